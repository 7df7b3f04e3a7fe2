#include "cell/late.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/file.h"

namespace sallyport {
namespace {

namespace fs = std::filesystem;

CellSpec spec() {
  CellSpec made;
  made.call_id = "0123456789abcdef0123456789abcdef";
  made.command = {"python3", "-B", "main.py"};
  made.environment = {{"A", "1"}};
  made.inputs = {{.host = "", .name = "main.py", .content = "print(1)"}};
  made.grants = {{.host = "/srv/data", .inside = "/data"}};
  made.outputs = {"*.csv"};
  made.output_directory = "/out";
  made.use_stdin = true;
  made.input = "in";
  made.warm = {.interpreter = Interpreter::python, .preload = {"json"}};
  return made;
}

TEST(ParkedCells, AreThoseThatNeitherWriteToTheHostNorReachHosts) {
  EXPECT_TRUE(may_be_parked(spec()));
  using Change = void (*)(CellSpec&);
  const Change unfit[] = {
      [](CellSpec& s) { s.grants[0].write = true; },
      [](CellSpec& s) { s.grants[0].optional = true; },
      [](CellSpec& s) { s.grants[0].inside = "/workspace"; },
      [](CellSpec& s) { s.grants[0] = {.host = "/workspace", .inside = ""}; },
      [](CellSpec& s) { s.network.allow.emplace_back(); },
      [](CellSpec& s) { s.observation = reinterpret_cast<Observation*>(&s); },
  };
  for (std::size_t i = 0; i < std::size(unfit); ++i) {
    CellSpec other = spec();
    unfit[i](other);
    EXPECT_FALSE(may_be_parked(other)) << i;
  }
}

TEST(ParkedCells, TakeOrdersThatAreSmall) {
  EXPECT_TRUE(fits_parked(spec()));
  CellSpec other = spec();
  other.inputs[0].content = std::string(256 << 10, 'x');
  EXPECT_TRUE(fits_parked(other));
  other.inputs.push_back({.host = "", .name = "b", .content = "x"});
  EXPECT_FALSE(fits_parked(other)) << "all files together";
  other = spec();
  other.inputs[0].content.reset();
  EXPECT_FALSE(fits_parked(other)) << "a path of the host";
  other = spec();
  other.command.assign(2, std::string(40 << 10, 'x'));
  EXPECT_FALSE(fits_parked(other));
  other = spec();
  other.environment = {{"A", std::string(64 << 10, 'x')}};
  EXPECT_FALSE(fits_parked(other));
  other = spec();
  other.command.assign(20'000, "");
  EXPECT_FALSE(fits_parked(other)) << "each word costs";
}

TEST(Orders, AreEncodedWithTheSizeOfEverythingBeforeIt) {
  const std::string words[] = {"main.py", ""}, environment[] = {"A=1"};
  using namespace std::string_literals;
  EXPECT_EQ(encode_order(words, environment),
            "\x1e\0\0\0"
            "\x02\0\0\0\x07\0\0\0main.py\0\0\0\0"
            "\x01\0\0\0\x03\0\0\0A=1"s);
  EXPECT_EQ(encode_order({}, {}), "\x08\0\0\0\0\0\0\0\0\0\0\0"s);
  const std::string large[] = {std::string(70'000, 'x')};
  const std::string order = encode_order(large, {});
  EXPECT_EQ(order.substr(0, 4), "\x7c\x11\x01\0"s);
  EXPECT_EQ(order.size(), 70'016U);
}

// The scratch of a cell in which something hostile waits.
class LateInputs : public testing::Test {
 protected:
  LateInputs() {
    char name[] = "/tmp/sallyport-test.XXXXXX";
    EXPECT_NE(::mkdtemp(name), nullptr);
    place_ = name;
    fs::create_directories(place_ / "scratch/workspace");
    fs::create_directories(place_ / "outside/d");
    std::ofstream(place_ / "outside/file") << "untouched";
    scratch_ = Fd(::open((place_ / "scratch").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    plan_.outside = {.uid = ::geteuid(), .gid = ::getegid()};
  }
  ~LateInputs() override { fs::remove_all(place_); }

  bool put(const std::string& name, const std::string& content = "content") {
    CellSpec made;
    made.inputs = {{.host = "", .name = name, .content = content}};
    return put_inputs(made, plan_, scratch_.get()).has_value();
  }
  [[nodiscard]] fs::path inside(const std::string& name) const {
    return place_ / "scratch/workspace" / name;
  }
  [[nodiscard]] std::size_t count_outside() const {
    return static_cast<std::size_t>(std::distance(
        fs::recursive_directory_iterator(place_ / "outside"), fs::recursive_directory_iterator()));
  }
  void expect_nothing_outside() const {
    EXPECT_EQ(count_outside(), 2U);
    EXPECT_EQ(read_file((place_ / "outside/file").c_str()).value_or("?"), "untouched");
  }

  fs::path place_;
  Fd scratch_;
  Plan plan_;
};

TEST_F(LateInputs, AreFilesOfTheCellsUser) {
  ASSERT_TRUE(put("main.py", "print(1)"));
  ASSERT_TRUE(put("data/deep/a.csv", ""));
  EXPECT_EQ(read_file(inside("main.py").c_str()).value_or("?"), "print(1)");
  struct stat status{};
  ASSERT_EQ(::stat(inside("data/deep/a.csv").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0644U);
  EXPECT_EQ(status.st_uid, plan_.outside.uid);
  EXPECT_EQ(status.st_size, 0);
}

TEST_F(LateInputs, AreNotWrittenThroughALink) {
  fs::create_symlink(place_ / "outside/file", inside("main.py"));
  EXPECT_FALSE(put("main.py"));
  fs::create_symlink(place_ / "outside/new", inside("dangling"));
  EXPECT_FALSE(put("dangling"));
  fs::create_symlink("../../outside/new", inside("relative"));
  EXPECT_FALSE(put("relative"));
  expect_nothing_outside();
}

TEST_F(LateInputs, AreNotLedElsewhereByALinkToADirectory) {
  fs::create_directory_symlink(place_ / "outside", inside("data"));
  EXPECT_FALSE(put("data/x"));
  EXPECT_FALSE(put("data/d/x"));
  EXPECT_FALSE(put("data/new/x")) << "and no directory is made there";
  fs::create_directory(inside("a"));
  fs::create_directory_symlink("../../../outside", inside("a/b"));
  EXPECT_FALSE(put("a/b/x"));
  EXPECT_FALSE(put("a/b/new/x"));
  expect_nothing_outside();
}

TEST_F(LateInputs, NeverReplaceWhatIsThere) {
  std::ofstream(inside("main.py")) << "planted";
  EXPECT_FALSE(put("main.py"));
  EXPECT_EQ(read_file(inside("main.py").c_str()).value_or("?"), "planted");
  ASSERT_EQ(::mkfifo(inside("fifo").c_str(), 0666), 0);
  EXPECT_FALSE(put("fifo")) << "and nobody waits for its reader";
  fs::create_directory(inside("directory"));
  EXPECT_FALSE(put("directory"));
  fs::create_hard_link(place_ / "outside/file", inside("linked"));
  EXPECT_FALSE(put("linked"));
  expect_nothing_outside();
}

TEST_F(LateInputs, WantTheDirectoryItselfToBeThere) {
  fs::remove(inside(""));
  fs::remove(place_ / "scratch/workspace");
  fs::create_directory_symlink(place_ / "outside", place_ / "scratch/workspace");
  EXPECT_FALSE(put("x"));
  expect_nothing_outside();
}

TEST(Plans, AreCurrentForAsLongAsGrantsAreWhatTheyWere) {
  char name[] = "/tmp/sallyport-test.XXXXXX";
  ASSERT_NE(::mkdtemp(name), nullptr);
  const fs::path place = name;
  const auto mount = [&](const char* part, bool grant) {
    HostMount made;
    made.source = place / part;
    made.grant = grant;
    EXPECT_EQ(::lstat(made.source.c_str(), &made.expected), 0);
    return made;
  };
  fs::create_directory(place / "granted");
  fs::create_directory(place / "system");
  Plan plan;
  plan.mounts.push_back(mount("granted", true));
  plan.mounts.push_back(mount("system", false));
  EXPECT_TRUE(is_current(plan));
  std::ofstream(place / "granted/new") << "x";
  EXPECT_TRUE(is_current(plan)) << "what is in it is shown as it is";
  fs::remove(place / "system");
  EXPECT_TRUE(is_current(plan));

  fs::rename(place / "granted", place / "old");
  EXPECT_FALSE(is_current(plan)) << "gone";
  fs::create_directory(place / "granted");
  EXPECT_FALSE(is_current(plan)) << "another one";
  fs::remove(place / "granted");
  fs::create_directory_symlink(place / "old", place / "granted");
  EXPECT_FALSE(is_current(plan)) << "a way to it";
  fs::remove(place / "granted");
  fs::rename(place / "old", place / "granted");
  EXPECT_TRUE(is_current(plan));
  fs::remove_all(place);
}

}  // namespace
}  // namespace sallyport
