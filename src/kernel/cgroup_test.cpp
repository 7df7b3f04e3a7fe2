#include "kernel/cgroup.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "kernel/cgroup_fixture.h"

namespace sallyport {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

bool fills_up(Cgroup& group) {
  pollfd oom{.fd = group.oom_fd(), .events = group.oom_poll_events(), .revents = 0};
  return ::poll(&oom, 1, 0) == 1;
}

// Runs until this process has used so much CPU time, however long that takes.
void burn_cpu(std::chrono::nanoseconds time) {
  timespec used{};
  do
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  while (std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec) < time);
}

TEST_F(CgroupTest, HasEveryLimitInForceBeforeAnythingRuns) {
  CgroupLimits limits = roomy();
  limits.cpus = 0.5;
  const auto group = make(limits);
  ASSERT_TRUE(group);
  EXPECT_EQ(file_of(*group, "pids.max"), "32");
  if (group->version() == CgroupVersion::v1) {
    EXPECT_EQ(file_of(*group, "memory.limit_in_bytes"), "67108864");
    EXPECT_EQ(file_of(*group, "memory.swappiness"), "0");
    EXPECT_EQ(file_of(*group, "cpu.cfs_quota_us"), "50000");
    EXPECT_EQ(file_of(*group, "cpu.cfs_period_us"), "100000");
    if (const auto both = file_of(*group, "memory.memsw.limit_in_bytes"); both[0] != '(') {
      EXPECT_EQ(both, "67108864");
    }
  } else {
    EXPECT_EQ(file_of(*group, "memory.max"), "67108864");
    EXPECT_EQ(file_of(*group, "memory.oom.group"), "1");
    EXPECT_EQ(file_of(*group, "cpu.max"), "50000 100000");
    if (const auto swap = file_of(*group, "memory.swap.max"); swap[0] != '(') {
      EXPECT_EQ(swap, "0");
    }
  }
}

TEST_F(CgroupTest, HoldsTheChildThatEnters) {
  const auto group = make(roomy());
  ASSERT_TRUE(group);
  const pid_t child = spawn_in(*group, sleep_forever);
  ASSERT_GT(child, 0);
  EXPECT_TRUE(soon([&] { return is_inside(*group, child); }));
  group->kill();
  EXPECT_TRUE(WIFSIGNALED(status_of(child)));
}

TEST_F(CgroupTest, KillsWhoeverExceedsTheMemoryAndSaysSo) {
  CgroupLimits limits = roomy();
  limits.memory_bytes = 16 * kMiB;
  const auto group = make(limits);
  ASSERT_TRUE(group);
  ASSERT_GE(group->oom_fd(), 0);
  EXPECT_FALSE(fills_up(*group));
  EXPECT_EQ(group->oom_kills(), 0u);
  const pid_t child = spawn_in(*group, [] {
    constexpr std::size_t kMuch = 64 * kMiB;
    auto* memory = static_cast<volatile char*>(
        ::mmap(nullptr, kMuch, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    for (std::size_t i = 0; i < kMuch; i += 4096)
      memory[i] = 1;
    return 0;
  });
  const int status = status_of(child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
  EXPECT_TRUE(soon([&] { return fills_up(*group); }));
  EXPECT_GE(group->oom_kills(), 1u);
  EXPECT_FALSE(fills_up(*group)) << "the event was taken";
  const CgroupUsage usage = group->usage();
  EXPECT_GE(usage.oom_kills, 1u);
  EXPECT_GT(usage.peak_memory_bytes, 8 * kMiB);
  EXPECT_LE(usage.peak_memory_bytes, 16 * kMiB);
}

TEST_F(CgroupTest, RefusesProcessesBeyondTheLimitAndCountsThem) {
  CgroupLimits limits = roomy();
  limits.processes = 4;
  const auto group = make(limits);
  ASSERT_TRUE(group);
  const pid_t child = spawn_in(*group, [] {
    int made = 0;
    for (int i = 0; i < 8; ++i) {
      const pid_t pid = plain_fork();
      if (pid == 0) sleep_forever();
      if (pid > 0) ++made;
      if (pid < 0 && errno != EAGAIN) return 98;
    }
    return made;
  });
  const int status = status_of(child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 3) << "four with the one that forks";
  const CgroupUsage usage = group->usage();
  EXPECT_GE(usage.processes_refused, 1u);
  EXPECT_EQ(usage.peak_processes, 4u);
}

TEST_F(CgroupTest, HoldsTheCpuToItsShareAndMeasuresIt) {
  CgroupLimits limits = roomy();
  limits.cpus = 0.1;
  const auto group = make(limits);
  ASSERT_TRUE(group);
  EXPECT_EQ(group->cpu_used_us(), 0u);
  const auto start = steady_clock::now();
  const pid_t child = spawn_in(*group, [] {
    burn_cpu(40ms);
    return 0;
  });
  ASSERT_TRUE(exited_well(child));
  EXPECT_GT(steady_clock::now() - start, 200ms) << "40 ms at 10 ms in every 100";
  const std::uint64_t used = group->cpu_used_us();
  EXPECT_GT(used, 30'000u);
  EXPECT_LT(used, 150'000u);
  const CgroupUsage usage = group->usage();
  EXPECT_GE(usage.throttled_periods, 1u);
  EXPECT_GT(usage.cpu_user_us + usage.cpu_system_us, 30'000u);
}

TEST_F(CgroupTest, IsKilledWholeAlsoWhereSignalsAreIgnoredAndParentsAreGone) {
  const auto group = make(roomy());
  ASSERT_TRUE(group);
  int ready[2];
  ASSERT_EQ(::pipe2(ready, O_CLOEXEC), 0);
  const pid_t child = spawn_in(*group, [&] {
    for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT})
      ::signal(signal, SIG_IGN);
    if (::fork() != 0) return 0;
    ::setsid();
    if (::fork() != 0) ::_exit(0);
    (void)!::write(ready[1], "x", 1);
    return sleep_forever();
  });
  ::close(ready[1]);
  ASSERT_TRUE(exited_well(child));
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_FALSE(group->remove()) << "there is still somebody in it";
  group->kill();
  // The end of the pipe: no process holds its other end any more.
  EXPECT_EQ(::read(ready[0], &byte, 1), 0);
  ::close(ready[0]);
  EXPECT_TRUE(soon([&] { return group->remove(); }));
}

TEST_F(CgroupTest, OutrunsAForkBomb) {
  const auto group = make(roomy());
  ASSERT_TRUE(group);
  const pid_t child = spawn_in(*group, [] {
    while (true)
      if (::fork() < 0) ::usleep(100);
    return 0;
  });
  ASSERT_TRUE(soon([&] { return group->usage().processes_refused > 0; }));
  group->kill();
  const std::uint64_t refused = group->usage().processes_refused;
  EXPECT_TRUE(WIFSIGNALED(status_of(child)));
  EXPECT_TRUE(soon([&] { return group->remove(); }));
  EXPECT_GE(refused, 1u);
}

TEST_F(CgroupTest, DoesNotCountTheForksThatTheKillItselfRefused) {
  const auto group = make(roomy());
  ASSERT_TRUE(group);
  group->kill();
  // v1 kills by forbidding forks. v2 has no need to, and may go on killing who is born into a
  // killed group.
  const int status = status_of(spawn_in(*group, [] { return ::fork() < 0 ? 1 : 0; }));
  if (group->version() == CgroupVersion::v1) {
    EXPECT_EQ(WEXITSTATUS(status), 1);
  }
  EXPECT_EQ(group->usage().processes_refused, 0u);
}

// How many descriptors of this process are files of the group, open ones or such that are gone.
std::ptrdiff_t open_files_of(const std::vector<std::string>& directories) {
  return std::ranges::count_if(
      std::filesystem::directory_iterator("/proc/self/fd"), [&](const auto& entry) {
        std::error_code none;
        const std::string target = std::filesystem::read_symlink(entry.path(), none).string();
        return std::ranges::any_of(directories, [&](const std::string& directory) {
          return target.starts_with(directory + "/");
        });
      });
}

// The kernel would keep what it knows of each, cell by cell.
TEST_F(CgroupTest, HasNoFileOpenWhenItsDirectoryGoes) {
  const auto group = make(roomy());
  ASSERT_TRUE(group);
  ASSERT_TRUE(exited_well(spawn_in(*group, [] { return 0; })));
  (void)group->usage_so_far();
  (void)group->usage();
  const std::vector<std::string> directories = directories_of(*group);
  ASSERT_GT(open_files_of(directories), 0);
  ASSERT_TRUE(soon([&] { return group->remove(); }));
  EXPECT_EQ(open_files_of(directories), 0);
}

TEST_F(CgroupTest, LeavesNoDirectoryBehind) {
  auto group = make(roomy());
  ASSERT_TRUE(group);
  const std::vector<std::string> directories = directories_of(*group);
  ASSERT_FALSE(directories.empty());
  for (const std::string& directory : directories)
    EXPECT_TRUE(std::filesystem::exists(directory));
  EXPECT_EQ(groups_of(::getpid()).size(), directories.size());
  EXPECT_TRUE(group->remove());
  EXPECT_EQ(groups_of(::getpid()).size(), 0u);

  // A second group of the same name must not fall with the first.
  const auto second = make(roomy());
  ASSERT_TRUE(second);
  group.reset();
  EXPECT_EQ(groups_of(::getpid()).size(), directories.size());
}

TEST_F(CgroupTest, ThatIsDestroyedTakesItsProcessesAlong) {
  auto group = make(roomy());
  ASSERT_TRUE(group);
  const pid_t child = spawn_in(*group, sleep_forever);
  ASSERT_TRUE(soon([&] { return is_inside(*group, child); }));
  group.reset();
  EXPECT_TRUE(WIFSIGNALED(status_of(child)));
  EXPECT_EQ(groups_of(::getpid()).size(), 0u);
}

TEST_F(CgroupTest, IsNotMadeWhenALimitCannotBeSet) {
  CgroupLimits limits = roomy();
  limits.processes = 4'000'000'000;  // more than the kernel has pids
  const auto group = Cgroup::create("test", limits);
  ASSERT_FALSE(group);
  EXPECT_EQ(group.error().reason, Reason::cannot_enforce);
  EXPECT_NE(group.error().message.find("/pids.max to '4000000000': Invalid argument"),
            std::string::npos)
      << group.error().message;
  EXPECT_EQ(groups_of(::getpid()).size(), 0u);
}

TEST_F(CgroupTest, IsNotMadeForARequestThatMakesNoSense) {
  for (const char* id : {"", "../up", "a/b"})
    EXPECT_EQ(Cgroup::create(id, roomy()).error().reason, Reason::argument) << id;
  CgroupLimits limits = roomy();
  limits.cpus = 0;
  EXPECT_EQ(Cgroup::create("test", limits).error().reason, Reason::argument);
}

TEST_F(CgroupTest, OfTheSameIdIsRefusedAndTheFirstLivesOn) {
  const auto first = make(roomy());
  ASSERT_TRUE(first);
  const auto second = Cgroup::create("test", roomy());
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("File exists"), std::string::npos);
  EXPECT_EQ(file_of(*first, "pids.max"), "32");
}

TEST_F(CgroupTest, HoldsDisksToTheirRateAndMeasuresThem) {
  const std::string file = "sallyport-io-" + std::to_string(::getpid());
  const Fd fd(::open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_DIRECT | O_CLOEXEC, 0600));
  ASSERT_TRUE(fd.valid()) << file << ": " << std::strerror(errno);
  ::unlink(file.c_str());
  struct stat st{};
  ASSERT_EQ(::fstat(fd.get(), &st), 0);
  const auto disk = whole_disk(st.st_dev);
  ASSERT_TRUE(disk) << "the I/O test needs a working directory on a disk: " << disk.error().message;

  CgroupLimits limits = roomy();
  limits.io_bytes_per_second = kMiB;
  limits.io_devices = {st.st_dev};
  const auto group = make(limits);
  ASSERT_TRUE(group);
  if (group->version() == CgroupVersion::v1) {
    EXPECT_EQ(file_of(*group, "blkio.throttle.read_bps_device"), *disk + " 1048576");
    EXPECT_EQ(file_of(*group, "blkio.throttle.write_bps_device"), *disk + " 1048576");
  } else {
    EXPECT_EQ(file_of(*group, "io.max"), *disk + " rbps=1048576 wbps=1048576 riops=max wiops=max");
  }
  constexpr std::size_t kPart = kMiB / 8;
  constexpr std::size_t kParts = 4;
  const auto start = steady_clock::now();
  const pid_t child = spawn_in(*group, [&] {
    void* part = ::mmap(nullptr, kPart, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (std::size_t i = 0; i < kParts; ++i) {
      const auto at = static_cast<off_t>(i * kPart);
      if (::pwrite(fd.get(), part, kPart, at) != kPart) return 1;
      if (::pread(fd.get(), part, kPart, at) != kPart) return 2;
    }
    return 0;
  });
  ASSERT_EQ(status_of(child), 0);
  EXPECT_GT(steady_clock::now() - start, 500ms) << "half a second's worth each way";
  const CgroupUsage usage = group->usage();
  EXPECT_GE(usage.read_bytes.value_or(0), kPart * kParts);
  EXPECT_GE(usage.write_bytes.value_or(0), kPart * kParts);
}

TEST_F(CgroupTest, IsNotMadeWhenThereIsNoDiskToHoldToARate) {
  struct stat proc{};
  ASSERT_EQ(::stat("/proc", &proc), 0);
  CgroupLimits limits = roomy();
  limits.io_bytes_per_second = kMiB;
  limits.io_devices = {proc.st_dev};
  const auto group = Cgroup::create("test", limits);
  ASSERT_FALSE(group);
  EXPECT_EQ(group.error().reason, Reason::cannot_enforce);
  EXPECT_NE(group.error().message.find("is not a disk"), std::string::npos);
}

TEST_F(CgroupTest, AsksForMoreCpuThanAnAncestorAllowsAndGetsWhatTheAncestorAllows) {
  if (probe_cgroups().version != CgroupVersion::v1) {
    // v2 takes any share; the smaller one of the two holds.
    CgroupLimits limits = roomy();
    limits.cpus = 1000;
    EXPECT_TRUE(make(limits));
    return;
  }
  const auto group = make(roomy());
  ASSERT_TRUE(group);
  // Our own group of one CPU plays the container; a child of it asks for two.
  const pid_t child = spawn_in(*group, [] {
    CgroupLimits limits = roomy();
    limits.cpus = 2;
    // A process's view of its own place is read once, so a fresh one is needed.
    CgroupHost host{
        .mounts = parse_cgroup_mounts(read_at(AT_FDCWD, "/proc/self/mountinfo").value_or("")),
        .memberships =
            parse_cgroup_memberships(read_at(AT_FDCWD, "/proc/self/cgroup").value_or("")),
        .named_parent = {}};
    auto tree = open_cgroup_v1(host);
    if (!tree) return 1;
    const auto inner = (*tree)->create(group_name(current_process(), "inner"), limits);
    if (!inner) return 2;
    return file_of(**inner, "cpu.cfs_quota_us") == "-1" ? 0 : 3;
  });
  EXPECT_EQ(status_of(child), 0);
}

TEST_F(CgroupTest, ProbeSaysWhereGroupsGoAndChangesNothing) {
  const CgroupSupport support = probe_cgroups();
  EXPECT_NE(support.version, CgroupVersion::none);
  EXPECT_TRUE(support.parent.starts_with("/")) << support.parent;
  EXPECT_TRUE(support.missing.empty());
  for (const char* name : {"memory", "pids", "cpu"})
    EXPECT_TRUE(contains(support.controllers, name)) << name;
  EXPECT_EQ(support.why_not + support.fix, "");
}

TEST_F(CgroupTest, ProbeTellsAnOrdinaryUserWhatIsMissing) {
  const pid_t child = fork_and([] {
    constexpr uid_t kNobody = 65534;
    if (::setresuid(kNobody, kNobody, kNobody) != 0) return 1;
    const CgroupSupport support = probe_cgroups();
    if (support.usable) return 2;
    if (support.why_not.empty() || support.fix.empty()) return 3;
    const auto group = Cgroup::create("test", roomy());
    if (group) return 4;
    return group.error().reason == Reason::cannot_enforce ? 0 : 5;
  });
  EXPECT_EQ(status_of(child), 0);
}

TEST_F(CgroupTest, AChildKnowsItselfFromItsParent) {
  const GroupOwner parent = current_process();
  EXPECT_EQ(parent.pid, ::getpid());
  EXPECT_EQ(current_process().start_time, parent.start_time);
  const pid_t child = fork_and([&] {
    const GroupOwner own = current_process();
    const auto stat = parse_process_stat(read_file("/proc/self/stat").value_or(""));
    if (own.pid != ::getpid() || own.pid == parent.pid) return 1;
    return stat && stat->start_time == own.start_time ? 0 : 2;
  });
  EXPECT_EQ(status_of(child), 0);
}

TEST_F(CgroupTest, ANamedParentThatCannotBeUsedIsAnErrorAndNotPassedOver) {
  const pid_t child = fork_and([] {
    ::setenv("SALLYPORT_CGROUP_PARENT", "/tmp", 1);
    const CgroupSupport support = probe_cgroups();
    if (support.usable) return 1;
    return support.why_not.find("SALLYPORT_CGROUP_PARENT") != std::string::npos ? 0 : 2;
  });
  EXPECT_EQ(status_of(child), 0);
}

}  // namespace
}  // namespace sallyport
