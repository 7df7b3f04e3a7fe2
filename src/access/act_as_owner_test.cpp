#include "access/act_as_owner.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>

#include "access/state_directory.h"

namespace sallyport {
namespace {

// In a process of its own, which it changes for good.
int in_child(const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work());
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class ActAsOwner : public testing::Test {
 protected:
  ActAsOwner() {
    char name[] = "/tmp/sallyport-test-owner.XXXXXX";
    EXPECT_NE(::mkdtemp(name), nullptr);
    EXPECT_EQ(::chmod(name, 0755), 0);
    parent_ = name;
    state_ = parent_ + "/state";
    EXPECT_EQ(::mkdir(state_.c_str(), 0700), 0);
  }
  ~ActAsOwner() override {
    ::rmdir(state_.c_str());
    ::unlink((parent_ + "/link").c_str());
    ::rmdir(parent_.c_str());
  }
  std::string parent_, state_;
};

TEST_F(ActAsOwner, LetsRootUseTheDirectoryOfAServiceAsTheService) {
  ASSERT_EQ(::geteuid(), 0U) << "the tests run as root";
  ASSERT_EQ(::chown(state_.c_str(), 12345, 12346), 0);
  EXPECT_FALSE(open_state_directory(state_)) << "as root it is another user's";
  EXPECT_EQ(in_child([this] {
              if (!act_as_owner(state_)) return 1;
              if (::geteuid() != 12345 || ::getegid() != 12346) return 2;
              if (::getgroups(0, nullptr) != 0) return 3;
              return open_state_directory(state_) ? 0 : 4;
            }),
            0);
}

TEST_F(ActAsOwner, ChangesNothingForRootsOwnDirectoryAndForOneThatIsNotThere) {
  EXPECT_EQ(in_child([this] {
              if (!act_as_owner(state_) || !act_as_owner(parent_ + "/none") || !act_as_owner(""))
                return 1;
              return ::geteuid() == 0 ? 0 : 2;
            }),
            0);
}

TEST_F(ActAsOwner, RefusesLinksAndWhatOthersMayWriteTo) {
  ASSERT_EQ(::chown(state_.c_str(), 12345, 12345), 0);
  ASSERT_EQ(::chmod(state_.c_str(), 0777), 0);
  const std::string link = parent_ + "/link";
  ASSERT_EQ(::symlink(state_.c_str(), link.c_str()), 0);
  ASSERT_EQ(::lchown(link.c_str(), 12345, 12345), 0);
  EXPECT_EQ(in_child([&] { return act_as_owner(state_) || act_as_owner(link) ? 1 : 0; }), 0);
}

}  // namespace
}  // namespace sallyport
