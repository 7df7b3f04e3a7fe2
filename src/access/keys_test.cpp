#include "access/keys.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

namespace sallyport {
namespace {

namespace fs = std::filesystem;

class Keys : public testing::Test {
 protected:
  Keys() {
    std::string name = fs::temp_directory_path() / "sallyport-keys-XXXXXX";
    path_ = ::mkdtemp(name.data());
    directory_ = Fd(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  ~Keys() override { fs::remove_all(path_); }

  std::string add(const std::string& caller, std::optional<Moment> expires = {},
                  std::optional<std::vector<std::string>> scopes = {}) {
    auto text = add_key(directory_.get(), {.id = {},
                                           .caller = caller,
                                           .created = Moment(1),
                                           .expires = expires,
                                           .scopes = std::move(scopes),
                                           .hash = {}});
    EXPECT_TRUE(text) << (text ? "" : text.error().message);
    return text.value_or("");
  }
  std::unique_ptr<KeyRing> ring() {
    auto opened = KeyRing::open(directory_.get());
    EXPECT_TRUE(opened);
    return std::move(*opened);
  }
  std::string file() {
    std::ifstream stream(path_ / "keys", std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  fs::path path_;
  Fd directory_;
};

TEST_F(Keys, SayWhoTheCallerIs) {
  const std::string vera = add("vera"), ed = add("ed", {}, {{"read:data"}});
  const auto keys = ring();
  const auto found = keys->find(ed, Moment(5));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->caller, "ed");
  ASSERT_TRUE(found->scopes);
  EXPECT_EQ(*found->scopes, std::vector<std::string>{"read:data"});
  EXPECT_FALSE(keys->find(vera, Moment(5))->scopes);
}

TEST_F(Keys, AreNotInTheFile) {
  const std::string key = add("vera");
  const std::string secret = key.substr(key.rfind('_') + 1);
  EXPECT_GE(secret.size(), 43U);
  EXPECT_EQ(file().find(secret), std::string::npos);
  EXPECT_NE(file().find(list_keys(directory_.get())->front().id), std::string::npos);
  EXPECT_EQ(fs::status(path_ / "keys").permissions(), fs::perms{0600});
}

TEST_F(Keys, AreAllDifferent) {
  std::set<std::string> seen;
  for (int i = 0; i < 200; ++i)
    EXPECT_TRUE(seen.insert(add("vera")).second);
}

TEST_F(Keys, OfNobodyAreRefused) {
  const std::string key = add("vera");
  const auto keys = ring();
  EXPECT_TRUE(keys->find(key, Moment(5)));
  std::vector<std::string> wrong = {"",
                                    "sp_",
                                    key.substr(0, key.size() - 1),
                                    key + "a",
                                    " " + key,
                                    key + "\n",
                                    key + std::string(1, '\0'),
                                    std::string(key.size(), 'a'),
                                    std::string(1 << 20, 's')};
  // Every single change of a letter.
  for (std::size_t i = 0; i < key.size(); ++i) {
    wrong.push_back(key);
    wrong.back()[i] = key[i] == 'A' ? 'B' : 'A';
  }
  for (const std::string& text : wrong) {
    const auto found = keys->find(text, Moment(5));
    ASSERT_FALSE(found) << text.substr(0, 80);
    EXPECT_EQ(found.error().reason, Reason::permission);
    EXPECT_EQ(found.error().message, "the key is not known");
  }
}

TEST_F(Keys, EndAtTheirExpiry) {
  const std::string key = add("vera", Moment(100));
  const auto keys = ring();
  EXPECT_TRUE(keys->find(key, Moment(99)));
  EXPECT_FALSE(keys->find(key, Moment(100)));
}

TEST_F(Keys, ThatAreRevokedAreRefusedAtOnceByARingThatKnewThem) {
  const std::string vera = add("vera"), ed = add("ed");
  const auto keys = ring();
  ASSERT_TRUE(keys->find(vera, Moment(5)));
  const std::string id = list_keys(directory_.get())->front().id;
  ASSERT_EQ(revoke_key(directory_.get(), id), true);
  EXPECT_EQ(revoke_key(directory_.get(), id), false);
  EXPECT_FALSE(keys->find(vera, Moment(5)));
  EXPECT_TRUE(keys->find(ed, Moment(5)));
  EXPECT_TRUE(keys->find(add("new"), Moment(5)));
}

TEST_F(Keys, OfAFileThatIsMovedAwayOrPutBackAreSeenAtOnce) {
  const std::string vera = add("vera");
  const auto keys = ring();
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(keys->find(vera, Moment(5)));
    std::filesystem::rename(path_ / "keys", path_ / "away");
    ASSERT_FALSE(keys->find(vera, Moment(5)));
    const std::string ed = add("ed");
    ASSERT_TRUE(keys->find(ed, Moment(5)));
    std::filesystem::rename(path_ / "away", path_ / "keys");
    ASSERT_FALSE(keys->find(ed, Moment(5)));
  }
  // Another name of the same file does not hide that it was replaced.
  std::filesystem::create_hard_link(path_ / "keys", path_ / "other");
  ASSERT_TRUE(keys->find(vera, Moment(5)));
  ASSERT_EQ(revoke_key(directory_.get(), list_keys(directory_.get())->front().id), true);
  EXPECT_FALSE(keys->find(vera, Moment(5)));
}

TEST_F(Keys, InADamagedFileOpenNothing) {
  const std::string key = add("vera", Moment(100), {{"read:data"}});
  const std::string good = file();
  const auto damage = [&](const std::string& text) {
    std::ofstream(path_ / "keys", std::ios::binary | std::ios::trunc) << text;
    EXPECT_FALSE(KeyRing::open(directory_.get())) << text;
    const auto list = list_keys(directory_.get());
    ASSERT_FALSE(list);
    EXPECT_EQ(list.error().reason, Reason::unavailable);
  };
  damage(good.substr(0, good.size() - 1));
  damage(good.substr(0, good.size() / 2));
  damage("[]\n");
  damage("{}\n");
  damage(R"({"id":"a","caller":"b","hash":"c"})"
         "\n");
  std::string text = good;
  // An expiry or scopes that cannot be read must not turn into none.
  damage(text.replace(text.find("100"), 3, "null"));
  text = good;
  damage(text.replace(text.find("[\"read:data\"]"), 13, "\"read:data\""));
}

TEST_F(Keys, MadeAtTheSameTimeAreAllKept) {
  std::vector<std::thread> makers;
  for (int maker = 0; maker < 4; ++maker)
    makers.emplace_back([&] {
      for (int i = 0; i < 10; ++i)
        add("vera");
    });
  for (std::thread& maker : makers)
    maker.join();
  EXPECT_EQ(list_keys(directory_.get())->size(), 40U);
}

}  // namespace
}  // namespace sallyport
