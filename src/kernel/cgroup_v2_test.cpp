// The v2 tree alone, which a host with its controllers on v1 has too. On a host with v2 controllers
// cgroup_test.cpp is the test of this backend's limits.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "kernel/cgroup_fixture.h"

namespace sallyport {
namespace {

class CgroupV2Test : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(::geteuid(), 0u) << "the cgroup tests need root: run them as root";
    for (const CgroupMount& mount :
         parse_cgroup_mounts(read_at(AT_FDCWD, "/proc/self/mountinfo").value_or("")))
      if (mount.version == CgroupVersion::v2) mount_ = mount.directory;
    ASSERT_NE(mount_, "") << "these tests need a cgroup2 mount: mount -t cgroup2 cgroup2 DIR";
    directory_ = mount_ + "/" + group_name(current_process(), "parent");
    ASSERT_EQ(::mkdir(directory_.c_str(), 0755), 0) << directory_;
    parent_ = open_group_parent(directory_, CgroupVersion::v2);
    ASSERT_TRUE(parent_);
  }
  void TearDown() override {
    EXPECT_EQ(::rmdir(directory_.c_str()), 0) << "something was left in " << directory_;
  }

  std::string mount_;
  std::string directory_;
  std::shared_ptr<const GroupParent> parent_;
};

TEST_F(CgroupV2Test, AGroupIsBornIntoKilledAndRemoved) {
  auto made = make_bare_group_v2(parent_, "g");
  ASSERT_TRUE(made) << made.error().message;
  Cgroup& group = **made;
  EXPECT_TRUE(group.entry_fds().empty());
  const pid_t child = spawn_in(group, [] {
    ::signal(SIGTERM, SIG_IGN);
    return ::fork() >= 0 ? sleep_forever() : 1;
  });
  ASSERT_GT(child, 0);
  EXPECT_TRUE(soon([&] { return parse_pids(file_of(group, "cgroup.procs")).size() == 2; }));
  EXPECT_FALSE(group.remove());
  group.kill();
  EXPECT_TRUE(WIFSIGNALED(status_of(child)));
  EXPECT_TRUE(soon([&] { return group.remove(); }));
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/g"));
}

TEST_F(CgroupV2Test, TheSweepTellsTheDeadFromTheLivingAndFromTheLeaves) {
  const GroupOwner dead{.pid = ::getpid(), .start_time = 1, .self = false};
  const GroupOwner dead_leaf{.pid = ::getpid(), .start_time = 1, .self = true};
  const std::string orphaned = directory_ + "/" + group_name(dead, "x");
  const std::string empty_leaf = directory_ + "/" + group_name(dead_leaf, "");
  ASSERT_EQ(::mkdir(orphaned.c_str(), 0755), 0);
  ASSERT_EQ(::mkdir(empty_leaf.c_str(), 0755), 0);
  const pid_t orphan = fork_and(sleep_forever);
  ASSERT_EQ(write_at(AT_FDCWD, (orphaned + "/cgroup.procs").c_str(), std::to_string(orphan)), 0);
  {
    const auto living = make_bare_group_v2(parent_, group_name(current_process(), "y"));
    ASSERT_TRUE(living);
    sweep_group_parent(parent_);
    EXPECT_TRUE(std::filesystem::exists(directory_ + "/" + group_name(current_process(), "y")));
  }
  EXPECT_TRUE(WIFSIGNALED(status_of(orphan)));
  EXPECT_FALSE(std::filesystem::exists(orphaned));
  EXPECT_FALSE(std::filesystem::exists(empty_leaf));
}

TEST_F(CgroupV2Test, TheSweepNeverKillsInALeafThatHeldSallyportItself) {
  const GroupOwner dead_leaf{.pid = ::getpid(), .start_time = 1, .self = true};
  const std::string leaf = directory_ + "/" + group_name(dead_leaf, "");
  ASSERT_EQ(::mkdir(leaf.c_str(), 0755), 0);
  const pid_t other = fork_and(sleep_forever);
  ASSERT_EQ(write_at(AT_FDCWD, (leaf + "/cgroup.procs").c_str(), std::to_string(other)), 0);
  sweep_group_parent(parent_);
  EXPECT_EQ(::kill(other, 0), 0);
  EXPECT_TRUE(std::filesystem::exists(leaf));
  ::kill(other, SIGKILL);
  status_of(other);
  sweep_group_parent(parent_);
  EXPECT_FALSE(std::filesystem::exists(leaf));
}

TEST_F(CgroupV2Test, ANamedParentIsUsedOrItsMissingControllersAreNamed) {
  const pid_t child = fork_and([&] {
    ::setenv("SALLYPORT_CGROUP_PARENT", directory_.c_str(), 1);
    const CgroupSupport support = probe_cgroups();
    if (support.version != CgroupVersion::v2 || support.parent != directory_) return 1;
    const std::string offered =
        read_at(AT_FDCWD, (directory_ + "/cgroup.controllers").c_str()).value_or("");
    for (const char* name : {"memory", "pids", "cpu"}) {
      const bool missing = contains(support.missing, name);
      if (missing == has_word(offered, name)) return 2;
      if (missing && support.why_not.find(name) == std::string::npos) return 3;
    }
    if (support.usable != support.missing.empty()) return 4;
    return support.usable || !support.fix.empty() ? 0 : 5;
  });
  EXPECT_EQ(status_of(child), 0);
}

TEST_F(CgroupV2Test, ADirectoryOfAnotherFileSystemIsNoParent) {
  EXPECT_FALSE(open_group_parent("/tmp", CgroupVersion::v2));
  EXPECT_FALSE(open_group_parent("/tmp", CgroupVersion::v1));
  EXPECT_FALSE(open_group_parent(directory_, CgroupVersion::v1));
}

}  // namespace
}  // namespace sallyport
