#include "launch/artifact_lock.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/fd.h"

namespace sallyport {
namespace {

namespace fs = std::filesystem;

class ArtifactSweep : public testing::Test {
 protected:
  ArtifactSweep() {
    char name[] = "/tmp/sallyport-test-sweep.XXXXXX";
    EXPECT_NE(::mkdtemp(name), nullptr);
    place_ = name;
  }
  ~ArtifactSweep() override { fs::remove_all(place_); }

  // A directory with a file in a folder, as a front that was killed leaves it.
  fs::path left(const std::string& name, mode_t mode = 01700) {
    const fs::path path = place_ / name;
    fs::create_directories(path / "out");
    std::ofstream(path / "out" / "file") << "x";
    EXPECT_EQ(::chmod(path.c_str(), mode), 0);
    return path;
  }
  void sweep(int seconds_later = 3600) {
    sweep_artifacts(place_, std::time(nullptr) + seconds_later);
  }

  fs::path place_;
};

TEST_F(ArtifactSweep, RemovesWhatNobodyHolds) {
  const fs::path gone = left("sallyport-artifacts-a");
  sweep(10);
  EXPECT_TRUE(fs::exists(gone)) << "somebody may be about to read it";
  sweep();
  EXPECT_FALSE(fs::exists(gone));
}

TEST_F(ArtifactSweep, LeavesWhatIsHeldUntilItIsNot) {
  const fs::path held = left("sallyport-artifacts-b");
  Fd holder(::open(held.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_EQ(::flock(holder.get(), LOCK_SH), 0);
  Fd passed_on(::dup(holder.get()));
  holder.reset();
  sweep();
  EXPECT_TRUE(fs::exists(held / "out" / "file"));
  passed_on.reset();
  sweep();
  EXPECT_FALSE(fs::exists(held));
}

TEST_F(ArtifactSweep, NeverFollowsALinkAndLeavesWhatIsNotItsOwn) {
  const fs::path elsewhere = left("elsewhere");
  const fs::path unmarked = left("sallyport-artifacts-c", 0700);
  const fs::path open_to_others = left("sallyport-artifacts-d", 01777);
  fs::create_directory_symlink(elsewhere, place_ / "sallyport-artifacts-link");
  std::ofstream(place_ / "sallyport-artifacts-file") << "x";
  const fs::path inner = left("sallyport-artifacts-e");
  fs::create_directory_symlink(elsewhere, inner / "link");
  fs::path foreign;
  if (::geteuid() == 0) {
    foreign = left("sallyport-artifacts-f");
    ASSERT_EQ(::chown(foreign.c_str(), 43210, 43210), 0);
    ASSERT_EQ(::chmod(foreign.c_str(), 01700), 0);
  }
  sweep();
  EXPECT_TRUE(fs::exists(elsewhere / "out" / "file"));
  EXPECT_TRUE(fs::exists(unmarked));
  EXPECT_TRUE(fs::exists(open_to_others));
  EXPECT_TRUE(fs::exists(place_ / "sallyport-artifacts-file"));
  EXPECT_TRUE(fs::is_symlink(place_ / "sallyport-artifacts-link"));
  EXPECT_FALSE(fs::exists(inner)) << "the link in it went, and not what it leads to";
  if (!foreign.empty()) EXPECT_TRUE(fs::exists(foreign));
}

TEST(ArtifactLock, MarksNothingButDirectoriesForArtifacts) {
  char own[] = "/tmp/sallyport-artifacts-XXXXXX";
  char other[] = "/tmp/sallyport-test-lock.XXXXXX";
  for (char* path : {own, other}) {
    ASSERT_NE(::mkdtemp(path), nullptr);
    const Fd directory(::open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    hold_artifacts(directory.get(), path);
    struct stat status{};
    ASSERT_EQ(::fstat(directory.get(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777U, path == own ? 01700U : 0700U);
    const Fd sweeper(::open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    EXPECT_EQ(::flock(sweeper.get(), LOCK_EX | LOCK_NB) == 0, path == other);
    ::rmdir(path);
  }
}

}  // namespace
}  // namespace sallyport
