#include "serve/front_user.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace sallyport {
namespace {

using testing::HasSubstr;

constexpr std::string_view kPasswd =
    "root:x:0:0:root:/root:/bin/bash\nann:x:1000:1001::/home/ann:/bin/sh\n";

TEST(FrontUser, IsTheServicesOwnUserOrANumberOfNobody) {
  const auto nobody = choose_front_user("", kPasswd, 0, 0);
  ASSERT_TRUE(nobody);
  EXPECT_EQ(nobody->uid, kFrontUid);
  EXPECT_EQ(nobody->gid, kFrontUid);
  EXPECT_TRUE(nobody->changes);
  const auto own = choose_front_user("", "sallyport:x:998:997::/:/usr/sbin/nologin\n", 0, 0);
  ASSERT_TRUE(own);
  EXPECT_EQ(own->uid, 998U);
  EXPECT_EQ(own->gid, 997U);
}

TEST(FrontUser, IsTheOneThatWasNamed) {
  EXPECT_EQ(choose_front_user("ann", kPasswd, 0, 0)->gid, 1001U);
  EXPECT_EQ(choose_front_user("4711", kPasswd, 0, 0)->uid, 4711U);
  EXPECT_FALSE(choose_front_user("bob", kPasswd, 0, 0));
  EXPECT_FALSE(choose_front_user("root", kPasswd, 0, 0));
  EXPECT_FALSE(choose_front_user("0", kPasswd, 0, 0));
  EXPECT_FALSE(choose_front_user("4294967295", kPasswd, 0, 0));
}

TEST(FrontUser, IsWhoStartedItWithoutRoot) {
  const auto ann = choose_front_user("", kPasswd, 1000, 1001);
  ASSERT_TRUE(ann);
  EXPECT_EQ(ann->uid, 1000U);
  EXPECT_FALSE(ann->changes);
  EXPECT_TRUE(choose_front_user("ann", kPasswd, 1000, 1001));
  EXPECT_FALSE(choose_front_user("root", kPasswd, 1000, 1001));
}

class StateForFront : public testing::Test {
 protected:
  StateForFront() {
    char name[] = "/tmp/sallyport-test-state.XXXXXX";
    EXPECT_NE(::mkdtemp(name), nullptr);
    EXPECT_EQ(::chmod(name, 0755), 0);
    parent_ = name;
    state_ = parent_ + "/state";
  }
  ~StateForFront() override { std::filesystem::remove_all(parent_); }
  static uid_t owner(const std::string& path) {
    struct stat status{};
    return ::lstat(path.c_str(), &status) == 0 ? status.st_uid : static_cast<uid_t>(-1);
  }
  const FrontUser user_{.uid = 12345, .gid = 12345, .changes = true};
  std::string parent_, state_;
};

TEST_F(StateForFront, IsMadeAndGivenAwayWithWhatRootPutThere) {
  ASSERT_EQ(::mkdir(state_.c_str(), 0700), 0);
  std::ofstream(state_ + "/keys") << "x";
  ASSERT_EQ(::mkdir((state_ + "/audit").c_str(), 0700), 0);
  std::ofstream(state_ + "/audit/1.jsonl") << "x";
  const auto prepared = prepare_state(state_ + "/", user_);
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_EQ(*prepared, state_);
  for (const char* name : {"", "/keys", "/audit", "/audit/1.jsonl"})
    EXPECT_EQ(owner(state_ + name), 12345U) << name;
  EXPECT_TRUE(prepare_state(state_, user_)) << "and again";
  EXPECT_TRUE(prepare_state(parent_ + "/new", user_));
}

// The front of yesterday may have been taken over.
TEST_F(StateForFront, DoesNotTakeTheHostsFilesWithIt) {
  ASSERT_TRUE(prepare_state(state_, user_));
  const std::string secret = parent_ + "/secret";
  std::ofstream(secret) << "x";
  ASSERT_EQ(::link(secret.c_str(), (state_ + "/hard").c_str()), 0);
  ASSERT_EQ(::symlink(secret.c_str(), (state_ + "/soft").c_str()), 0);
  ASSERT_EQ(::symlink(parent_.c_str(), (state_ + "/up").c_str()), 0);
  ASSERT_EQ(::mkfifo((state_ + "/fifo").c_str(), 0600), 0);
  ASSERT_TRUE(prepare_state(state_, user_));
  EXPECT_EQ(owner(secret), 0U);
  EXPECT_EQ(owner(state_ + "/fifo"), 0U);
}

TEST_F(StateForFront, IsRefusedWhereItIsNotOurs) {
  ASSERT_EQ(::mkdir(state_.c_str(), 0700), 0);
  ASSERT_EQ(::chown(state_.c_str(), 4711, 4711), 0);
  EXPECT_THAT(prepare_state(state_, user_).error().message, HasSubstr("belongs to another user"));
  ASSERT_EQ(::chown(state_.c_str(), 0, 0), 0);
  ASSERT_EQ(::chmod(state_.c_str(), 0770), 0);
  EXPECT_THAT(prepare_state(state_, user_).error().message, HasSubstr("written by others"));
  ASSERT_EQ(::symlink("/etc", (parent_ + "/link").c_str()), 0);
  EXPECT_FALSE(prepare_state(parent_ + "/link", user_));
  EXPECT_FALSE(prepare_state(parent_ + "/link/", user_));
  EXPECT_EQ(owner("/etc"), 0U);
}

TEST_F(StateForFront, IsRefusedWhereTheFrontCannotGetTo) {
  ASSERT_EQ(::chmod(parent_.c_str(), 0700), 0);
  const auto refused = prepare_state(state_, user_);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("cannot be entered by uid 12345"));
  EXPECT_EQ(::geteuid(), 0U);
  EXPECT_EQ(::getegid(), 0U);
}

}  // namespace
}  // namespace sallyport
