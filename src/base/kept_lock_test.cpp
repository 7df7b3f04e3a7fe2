#include "base/kept_lock.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "base/private_file.h"

namespace sallyport {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

class KeptLockOfAFile : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/sallyport-kept-lock-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    path_ = name;
    directory_ = Fd(::open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  void TearDown() override { fs::remove_all(path_); }

  // Whether somebody else could lock it.
  [[nodiscard]] bool is_free() const {
    return lock_private_file(directory_.get(), "lock", O_RDWR | O_CREAT, milliseconds(1))
        .has_value();
  }
  [[nodiscard]] auto take() { return lock_.take(directory_.get(), milliseconds(1)); }

  fs::path path_;
  Fd directory_;
  KeptLock lock_{"lock"};
};

TEST_F(KeptLockOfAFile, IsHeldUntilItIsGivenBackAgainAndAgain) {
  for (int i = 0; i < 3; ++i) {
    {
      const auto held = take();
      ASSERT_TRUE(held);
      EXPECT_FALSE(is_free());
    }
    EXPECT_TRUE(is_free());
  }
}

TEST_F(KeptLockOfAFile, IsNotTakenFromOthers) {
  ASSERT_TRUE(take());
  const auto other = lock_private_file(directory_.get(), "lock", O_RDWR | O_CREAT, milliseconds(1));
  ASSERT_TRUE(other);
  const auto held = take();
  ASSERT_FALSE(held);
  EXPECT_EQ(held.error().reason, Reason::unavailable);
}

TEST_F(KeptLockOfAFile, IsOnTheFileThatHasTheNameNow) {
  ASSERT_TRUE(take());
  fs::remove(path_ / "lock");
  {
    const auto held = take();
    ASSERT_TRUE(held);
    EXPECT_FALSE(is_free());
  }
  fs::rename(path_ / "lock", path_ / "away");
  const auto held = take();
  ASSERT_TRUE(held);
  EXPECT_FALSE(is_free());
}

TEST_F(KeptLockOfAFile, IsRefusedWhenOthersMayWriteToItOrItIsNoFile) {
  ASSERT_TRUE(take());
  fs::permissions(path_ / "lock", fs::perms::all);
  EXPECT_FALSE(take());
  fs::remove(path_ / "lock");
  ASSERT_TRUE(take());
  fs::remove(path_ / "lock");
  fs::create_symlink("elsewhere", path_ / "lock");
  EXPECT_FALSE(take());
}

TEST_F(KeptLockOfAFile, IsNotSharedWithAChild) {
  const auto held = take();
  ASSERT_TRUE(held);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(take() ? 1 : 0);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(is_free());  // the child took nothing away
}

}  // namespace
}  // namespace sallyport
