#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "kernel/cgroup_fixture.h"

namespace sallyport {
namespace {

using CgroupSweepTest = CgroupTest;

// A process that has made a group called "owned" and waits to be killed.
pid_t start_owner(const std::function<void(Cgroup&)>& then) {
  int ready[2];
  if (::pipe2(ready, O_CLOEXEC) != 0) return -1;
  const pid_t owner = fork_and([&] {
    const auto group = Cgroup::create("owned", roomy());
    if (!group) return 1;
    then(**group);
    (void)!::write(ready[1], "x", 1);
    return sleep_forever();
  });
  ::close(ready[1]);
  char byte = 0;
  const bool made = ::read(ready[0], &byte, 1) == 1;
  ::close(ready[0]);
  return made ? owner : -1;
}

TEST_F(CgroupSweepTest, RemovesTheGroupOfADeadOwnerAndKeepsThatOfALivingOne) {
  const pid_t dead = start_owner([](Cgroup&) {});
  const pid_t living = start_owner([](Cgroup&) {});
  ASSERT_GT(dead, 0);
  ASSERT_GT(living, 0);
  ::kill(dead, SIGKILL);
  status_of(dead);
  EXPECT_FALSE(groups_of(dead).empty());
  const auto kept = groups_of(living);
  EXPECT_FALSE(kept.empty());
  sweep_cgroups();
  EXPECT_TRUE(groups_of(dead).empty());
  EXPECT_EQ(groups_of(living), kept);
  ::kill(living, SIGKILL);
  status_of(living);
  sweep_cgroups();
  EXPECT_TRUE(groups_of(living).empty());
}

TEST_F(CgroupSweepTest, KillsWhatADeadOwnerLeftRunning) {
  int held[2];
  ASSERT_EQ(::pipe2(held, O_CLOEXEC), 0);
  const pid_t owner = start_owner([&](Cgroup& group) {
    spawn_in(group, [] { return ::fork() == 0 ? sleep_forever() : 0; });
    ::wait(nullptr);
  });
  ASSERT_GT(owner, 0);
  ::close(held[1]);
  ::kill(owner, SIGKILL);
  status_of(owner);
  pollfd orphan{.fd = held[0], .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&orphan, 1, 0), 0) << "the orphan lives: it holds the other end";
  sweep_cgroups();
  EXPECT_TRUE(groups_of(owner).empty());
  EXPECT_EQ(::poll(&orphan, 1, 5000), 1) << "the orphan is still alive";
  ::close(held[0]);
}

TEST_F(CgroupSweepTest, IsNotDeceivedByAReusedPid) {
  // Our own pid, but started at another time.
  const std::string name = group_name({.pid = ::getpid(), .start_time = 1, .self = false}, "old");
  const std::string directory = probe_cgroups().parent + "/" + name;
  ASSERT_EQ(::mkdir(directory.c_str(), 0755), 0) << directory;
  sweep_cgroups();
  EXPECT_FALSE(std::filesystem::exists(directory));
}

TEST_F(CgroupSweepTest, FromAnotherPidNamespaceKeepsTheGroupsOfTheLiving) {
  const auto group = make(roomy());
  ASSERT_TRUE(group);
  const auto before = groups_of(::getpid());
  const pid_t outer = fork_and([] {
    if (::unshare(CLONE_NEWNS | CLONE_NEWPID) != 0) return 1;
    const pid_t inner = fork_and([] {
      // With a /proc of its own, in which our pid means nothing.
      if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return 2;
      if (::mount("proc", "/proc", "proc", 0, nullptr) != 0) return 3;
      sweep_cgroups();
      return 0;
    });
    return exited_well(inner) ? 0 : 4;
  });
  EXPECT_EQ(status_of(outer), 0);
  EXPECT_EQ(groups_of(::getpid()), before);
}

}  // namespace
}  // namespace sallyport
