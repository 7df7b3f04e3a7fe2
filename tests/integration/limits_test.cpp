// The budget of a cell: what each limit does when it is reached, and that nothing gets round it.
// "Resource exhaustion" and "Survivors" of the threat model, each with a twin that is not stopped
// outside a cell.
#include <gmock/gmock.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <fstream>
#include <span>

#include "support/cell_result.h"
#include "support/leftovers.h"

namespace sallyport::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::Contains;
using testing::Ge;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Le;
using testing::Not;

class Limits : public CellTest {
 protected:
  [[nodiscard]] static bool has_cgroup() { return GetParam() == As::root; }

  static CellResult attack(const std::vector<std::string>& probe_args,
                           std::vector<std::string> options) {
    options.emplace_back("--json");
    return CellResult(probe_in_cell(GetParam(), probe_args, std::move(options)));
  }
};

// An error inside, not a death.
testing::AssertionResult refused_with(const CellResult& result, const std::string& error) {
  if (result.exit_code == 1 && result.text("output").find(error) != std::string::npos)
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << result;
}

// ---- Time

constexpr const char* kWaysToStay[] = {"sleep", "ignore-signals", "stopped",
                                       "busy",  "full-pipe",      "double-fork"};

TEST_P(Limits, TheTimeoutEndsEverythingWhateverItDoesToStay) {
  for (const char* way : kWaysToStay) {
    const std::string word = unique_word();
    const Ran ran =
        probe_in_cell(GetParam(), {"stay", way, word}, {"--json", "--timeout", "300ms"});
    EXPECT_TRUE(killed_for(CellResult(ran), "timeout", 124)) << way;
    EXPECT_THAT(processes_with(word), IsEmpty()) << way;
    EXPECT_GE(ran.took, 300ms) << way;
    EXPECT_LT(ran.took, 10s) << way;
  }
}

// Also what is being forked meanwhile: it has the same command line.
void kill_all(const std::string& word) {
  EXPECT_TRUE(eventually([&] {
    const std::vector<pid_t> left = processes_with(word);
    for (const pid_t pid : left)
      ::kill(pid, SIGKILL);
    return left.empty();
  }));
}

TEST(LimitsOutside, NothingEndsWhatStaysOutsideACell) {
  const std::string word = unique_word();
  std::vector<std::unique_ptr<LiveProcess>> twins;
  for (const char* way : kWaysToStay)
    twins.push_back(
        std::make_unique<LiveProcess>(std::vector<std::string>{probe_path(), "stay", way, word}));
  EXPECT_TRUE(eventually([&] { return processes_with(word).size() == std::size(kWaysToStay) + 1; }))
      << "and one more that the double fork left";
  std::this_thread::sleep_for(400ms);
  EXPECT_EQ(processes_with(word).size(), std::size(kWaysToStay) + 1);
  twins.clear();
  kill_all(word);
}

TEST_P(Limits, WhatTheCommandLeavesRunningEndsWithItAndDoesNotDelayTheAnswer) {
  const std::string word = unique_word();
  const Ran ran = probe_in_cell(GetParam(), {"stay", "leave-behind", word}, {"--timeout", "60s"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_LT(ran.took, 30s);
  EXPECT_THAT(processes_with(word), IsEmpty());
}

TEST(LimitsOutside, WhatACommandLeavesRunningOutsideACellGoesOn) {
  const std::string word = unique_word();
  EXPECT_TRUE(attack_worked(run(
      {"sh", "-c", "exec \"$0\" stay leave-behind \"$1\" >/dev/null 2>&1", probe_path(), word})));
  EXPECT_EQ(processes_with(word).size(), 1u);
  kill_all(word);
}

TEST_P(Limits, CpuTimeIsCountedOverAllProcesses) {
  // Two seconds in each of four processes, which no limit per process would stop at one.
  const CellResult result =
      attack({"burn-cpu", "4", "2"}, {"--cpu", "1s", "--cpus", "2", "--timeout", "100s"});
  EXPECT_TRUE(killed_for(result, "cpu"));
  EXPECT_THAT(result.cpu_seconds(), AllOf(Ge(0.8), Le(3.0)));
  EXPECT_TRUE(attack_worked(probe_outside({"burn-cpu", "4", "0.3"})));
}

TEST_P(Limits, CpuTimeOfProcessesThatAreGoneCountsToo) {
  const CellResult result(run_cell(
      GetParam(), {"--json", "--cpu", "700ms", "--timeout", "100s", "--", "sh", "-c",
                   "while :; do sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done'; done"}));
  EXPECT_TRUE(killed_for(result, "cpu"));
}

TEST_P(Limits, ASleepingCommandUsesUpItsTimeoutAndNotItsCpuTime) {
  const CellResult result(
      run_cell(GetParam(), {"--json", "--cpu", "100ms", "--timeout", "1s", "--", "sleep", "60"}));
  EXPECT_TRUE(killed_for(result, "timeout", 124));
}

TEST(LimitsOfRoot, TheCpuShareSlowsAndDoesNotKill) {
  const CellResult slowed(
      probe_in_cell(As::root, {"stay", "busy", "-"},
                    {"--json", "--cpus", "0.25", "--cpu", "60s", "--timeout", "2s"}));
  EXPECT_TRUE(killed_for(slowed, "timeout", 124));
  const double share = slowed.cpu_seconds() * 1e6 / static_cast<double>(slowed.usage("wall_us"));
  EXPECT_THAT(share, AllOf(Ge(0.05), Le(0.35)));
  EXPECT_THAT(slowed.limits_hit(), Contains("cpus"));

  const CellResult free(
      probe_in_cell(As::root, {"burn-cpu", "1", "0.3"}, {"--json", "--cpus", "2"}));
  EXPECT_EQ(free.exit_code, 0);
  EXPECT_THAT(free.limits_hit(), Not(Contains("cpus"))) << "the twin";
}

// ---- Memory

struct MemoryAttack {
  const char* name;
  std::vector<std::string> words;
};

const MemoryAttack kSeenByTheWatcher[] = {
    {"shared memory", {"take-shared-memory", "96"}},
    {"a little in each of many processes", {"take-memory-in-processes", "12", "8"}},
    {"files in /tmp", {"take-memory-files", "/tmp", "12", "8"}},
    {"files in /dev/shm", {"take-memory-files", "/dev/shm", "12", "8"}},
};
const MemoryAttack kSeenByTheKernelOnly[] = {
    {"files without a path", {"take-memfds", "12", "8"}},
    {"System V segments", {"take-system-v-memory", "12", "8"}},
};
const MemoryAttack kBuffers[] = {
    {"pipes", {"fill-pipes", "800"}},
    {"sockets", {"fill-sockets", "300"}},
};
const std::vector<std::string> kLittleMemory = {"--memory", "32MiB", "--open-files", "4096"};

TEST_P(Limits, MemoryIsBoundedHoweverItIsTakenAndNamedAsTheReason) {
  for (const MemoryAttack& memory : kSeenByTheWatcher)
    EXPECT_TRUE(killed_for(attack(memory.words, kLittleMemory), "memory")) << memory.name;
}

TEST(LimitsOutside, NothingBoundsMemoryOutsideACell) {
  for (const auto& list : {std::span<const MemoryAttack>(kSeenByTheWatcher),
                           std::span<const MemoryAttack>(kSeenByTheKernelOnly)})
    for (const MemoryAttack& memory : list)
      EXPECT_TRUE(attack_worked(probe_outside(memory.words))) << memory.name;
  // Their descriptors are more than a shell usually has.
  EXPECT_TRUE(attack_worked(
      run({"sh", "-c", "ulimit -n 4096 && exec \"$0\" fill-pipes 800", probe_path()})));
  EXPECT_TRUE(attack_worked(
      run({"sh", "-c", "ulimit -n 4096 && exec \"$0\" fill-sockets 300", probe_path()})));
  EXPECT_TRUE(attack_worked(probe_outside({"take-private-memory", "96"})));
}

TEST(LimitsOfRoot, MemoryThatIsInNoProcessCountsToo) {
  for (const auto& list : {std::span<const MemoryAttack>(kSeenByTheKernelOnly),
                           std::span<const MemoryAttack>(kBuffers)})
    for (const MemoryAttack& memory : list) {
      std::vector<std::string> options = kLittleMemory;
      options.emplace_back("--json");
      EXPECT_TRUE(killed_for(CellResult(probe_in_cell(As::root, memory.words, options)), "memory"))
          << memory.name;
    }
}

// Without a cgroup nothing adds up what no process has mapped, so it must not be to be had.
TEST(LimitsOfUser, MemoryThatIsInNoProcessIsRefused) {
  for (const MemoryAttack& memory : kSeenByTheKernelOnly)
    EXPECT_TRUE(attack_refused(probe_in_cell(As::user, memory.words, kLittleMemory)))
        << memory.name;
}

TEST(LimitsOfRoot, OneProcessThatTakesTooMuchMemoryIsKilledForIt) {
  const Ran ran = probe_in_cell(As::root, {"take-private-memory", "96"}, {"--memory", "32MiB"});
  EXPECT_EQ(ran.exit_code, 137);
  EXPECT_THAT(ran.err, HasSubstr("more than 32MiB of memory"));
}

TEST(LimitsOfUser, OneProcessThatTakesTooMuchMemoryGetsNoMoreAndTheResultSaysSo) {
  const CellResult result(
      probe_in_cell(As::user, {"take-private-memory", "96"}, {"--json", "--memory", "32MiB"}));
  EXPECT_TRUE(refused_with(result, "Cannot allocate memory"));
  EXPECT_THAT(result.limits_hit(), Contains("memory"));
}

// A shell survives the kernel's kill of its child, and would go on without what it needed.
TEST_P(Limits, AKillForMemoryEndsTheWholeCell) {
  for (int i = 0; i < 5; ++i) {
    std::vector<std::string> args = probe_grant();
    for (const char* word : {"--json", "--memory", "32MiB", "--timeout", "100s", "--", "sh", "-c"})
      args.emplace_back(word);
    args.push_back(probe_inside() + " take-shared-memory 96; sleep 60; echo survived");
    const Ran ran = run_cell(GetParam(), args);
    EXPECT_TRUE(killed_for(CellResult(ran), "memory"));
    EXPECT_LT(ran.took, 30s);
  }
}

TEST(LimitsOfRoot, InputsThatDoNotFitIntoTheMemoryKeepTheCommandFromStarting) {
  TempDir directory;
  write_file(directory / "input", std::string(24 << 20, 'x'));
  const Ran ran = run_cell(
      As::root, {"--json", "--memory", "8MiB", "--in", directory / "input", "--", "echo", "ran"});
  EXPECT_EQ(ran.exit_code, 125);
  const CellResult result(ran);
  EXPECT_EQ(result.text("status"), "blocked");
  EXPECT_EQ(result.text("reason"), "memory");
  EXPECT_EQ(result.text("output"), "");
}

// The directory of the cgroup that holds `pid`, in the hierarchy that limits memory.
std::string memory_cgroup_of(pid_t pid) {
  std::istringstream lines(read_file("/proc/" + std::to_string(pid) + "/cgroup"));
  std::string unified;
  for (std::string line; std::getline(lines, line);) {
    const std::string path = line.substr(line.rfind(':') + 1);
    if (line.find(":memory:") != std::string::npos) return "/sys/fs/cgroup/memory" + path;
    if (line.starts_with("0::")) unified = "/sys/fs/cgroup" + path;
  }
  return unified;
}

TEST(LimitsOfRoot, ACellHasNoSwap) {
  LiveProcess cell = start_cell(
      As::root, {"--memory", "32MiB", "--timeout", "100s", "--", "sh", "-c", "echo on; sleep 99"});
  ASSERT_TRUE(cell.says("on"));
  const std::string group = memory_cgroup_of(descendants_of(cell.pid()).back());
  if (std::filesystem::exists(group + "/memory.swappiness")) {
    EXPECT_EQ(read_file(group + "/memory.swappiness"), "0\n");
    const std::string both = read_file(group + "/memory.memsw.limit_in_bytes");
    EXPECT_TRUE(both.empty() || both == read_file(group + "/memory.limit_in_bytes")) << both;
    EXPECT_EQ(read_file(group + "/memory.limit_in_bytes"), "33554432\n");
  } else {
    EXPECT_EQ(read_file(group + "/memory.swap.max"), "0\n");
    EXPECT_EQ(read_file(group + "/memory.max"), "33554432\n");
  }
}

// ---- Processes and descriptors

TEST_P(Limits, ProcessesThreadsAndZombiesFailAtTheLimitAndNothingIsKilled) {
  for (const char* kind : {"make-processes", "make-threads", "make-zombies"}) {
    const CellResult result = attack({kind, "40"}, {"--processes", "10"});
    EXPECT_TRUE(refused_with(result, ": 9 of 40, then Resource temporarily unavailable")) << kind;
    if (has_cgroup()) {
      EXPECT_THAT(result.limits_hit(), Contains("processes")) << kind;
      EXPECT_EQ(result.usage("processes"), 10) << kind;
    }
    EXPECT_TRUE(attack_worked(probe_outside({kind, "40"}))) << kind;
  }
}

TEST_P(Limits, ProcessesBelowTheLimitAreNotListed) {
  const CellResult result = attack({"make-processes", "9"}, {"--processes", "10"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.limits_hit(), IsEmpty());
}

// RLIMIT_NPROC counts per uid: two sandboxes of one user could starve each other.
TEST_P(Limits, OneCellsProcessesDoNotCountAgainstAnothers) {
  LiveProcess other =
      start_cell(GetParam(), {"--processes", "12", "--timeout", "100s", "--", "sh", "-c",
                              "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 99 & done; echo on; wait"});
  ASSERT_TRUE(other.says("on"));
  EXPECT_EQ(attack({"make-processes", "11"}, {"--processes", "12"}).exit_code, 0);
}

TEST_P(Limits, OpenFilesFailAtTheLimit) {
  // Beside the standard three.
  EXPECT_TRUE(refused_with(attack({"open-files", "64"}, {"--open-files", "20"}),
                           ": 17 of 64, then Too many open files"));
  EXPECT_TRUE(attack_worked(probe_outside({"open-files", "64"})));
}

// ---- Disk

TEST_P(Limits, TheScratchIsFullAtTheLimit) {
  const CellResult result =
      attack({"write-file", "/tmp/file", "3000000"}, {"--disk", "1MiB", "--file-size", "10MB"});
  EXPECT_TRUE(refused_with(result, "1048576 of 3000000, then No space left on device"));
  EXPECT_THAT(result.limits_hit(), Contains("disk"));

  TempDir outside;
  EXPECT_TRUE(attack_worked(probe_outside({"write-file", outside / "file", "3000000"})));
}

TEST_P(Limits, TheScratchIsOneForAllItsPlaces) {
  std::vector<std::string> args = probe_grant();
  for (const char* word : {"--json", "--disk", "1MiB", "--", "sh", "-ec"})
    args.emplace_back(word);
  const std::string write = probe_inside() + " write-file ";
  args.push_back(write + "/tmp/a 400000; " + write + "/workspace/b 400000; " + write +
                 "/dev/shm/c 400000");
  const CellResult result(run_cell(GetParam(), args));
  EXPECT_TRUE(refused_with(result, "of 400000, then No space left on device"));
  EXPECT_THAT(result.limits_hit(), Contains("disk"));
}

TEST_P(Limits, FilesAreBoundedInNumber) {
  const CellResult result = attack({"make-files", "/workspace", "100"}, {"--inodes", "50"});
  EXPECT_TRUE(refused_with(result, "of 100, then No space left on device"));
  EXPECT_THAT(result.limits_hit(), Contains("disk"));

  TempDir outside;
  EXPECT_TRUE(attack_worked(probe_outside({"make-files", outside.path(), "100"})));
}

TEST_P(Limits, AFileThatGrowsTooLargeIsAnErrorInsideAndNotADeath) {
  for (const char* path : {"/workspace/file", "/tmp/file", "/dev/shm/file"}) {
    const CellResult result = attack({"write-file", path, "300000"}, {"--file-size", "100kB"});
    EXPECT_TRUE(refused_with(result, "100000 of 300000, then File too large")) << path;
    EXPECT_THAT(result.limits_hit(), Contains("file_size")) << path;
  }
  TempDir outside;
  EXPECT_TRUE(attack_worked(probe_outside({"write-file", outside / "file", "300000"})));
}

TEST_P(Limits, AFileThatStoppedGrowingIsFoundBelowDirectories) {
  const CellResult result(run_cell(
      GetParam(), {"--json", "--file-size", "100kB", "--", "sh", "-c",
                   "mkdir -p a/b/c; dd if=/dev/zero of=a/b/c/file bs=1000 count=200 2>/dev/null"}));
  EXPECT_THAT(result.limits_hit(), Contains("file_size"));
}

TEST_P(Limits, FilesBelowTheSizeLimitAndInputsAboveItAreNotListed) {
  TempDir directory(GetParam());
  write_file(directory / "input", std::string(300000, 'x'), GetParam());
  const CellResult result = attack({"write-file", "/workspace/file", "90000"},
                                   {"--file-size", "100kB", "--in", directory / "input"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.limits_hit(), IsEmpty());
}

TEST_P(Limits, ChangesThatAreHeldBackCountAgainstTheScratch) {
  TempDir directory(GetParam());
  const CellResult result =
      attack({"write-file", "/data/file", "3000000"},
             {"--disk", "1MiB", "--write", directory.path() + ":/data", "--write-mode", "copy"});
  EXPECT_TRUE(refused_with(result, "then No space left on device"));
  EXPECT_THAT(result.limits_hit(), Contains("disk"));
}

TEST_P(Limits, AHoleIsNoWayRoundTheFileSize) {
  const CellResult result = attack({"make-sparse-file", "/workspace/hole", "1000000000000"}, {});
  EXPECT_TRUE(refused_with(result, "ftruncate: File too large\npwrite: File too large"));
  TempDir outside;
  EXPECT_TRUE(attack_worked(probe_outside({"make-sparse-file", outside / "hole", "1000000000"})));
}

TEST_P(Limits, CoreDumpsAreOffAndStayOff) {
  EXPECT_TRUE(attack_refused(probe_in_cell(GetParam(), {"dump-core"})));
  EXPECT_TRUE(attack_worked(probe_outside({"dump-core"})));
}

// ---- What was used

TEST_P(Limits, TheResultSaysWhatWasUsed) {
  std::vector<std::string> args = probe_grant();
  for (const char* word : {"--json", "--cpus", "2", "--", "sh", "-ec"})
    args.emplace_back(word);
  args.push_back(probe_inside() + " burn-cpu 3 0.2; " + probe_inside() +
                 " take-private-memory 24; printf 12345 >&2");
  const CellResult result(run_cell(GetParam(), args));
  ASSERT_EQ(result.exit_code, 0) << result;
  EXPECT_THAT(result.cpu_seconds(), AllOf(Ge(0.55), Le(10.0)));
  EXPECT_THAT(result.usage("wall_us"), AllOf(Ge(200'000), Le(60'000'000)));
  EXPECT_LE(result.cpu_seconds() * 1e6, 2.2 * static_cast<double>(result.usage("wall_us")));
  EXPECT_THAT(result.usage("peak_memory_bytes"), AllOf(Ge(24 << 20), Le(100 << 20)));
  // The shell, the probe and its three children; the watcher may look between them.
  EXPECT_THAT(result.usage("processes"), AllOf(Ge(has_cgroup() ? 5 : 1), Le(5)));
  EXPECT_EQ(result.usage("output_bytes"),
            static_cast<std::int64_t>(result.text("output").size()) + 5);
  EXPECT_TRUE(result.json.at("usage").at("final").as_bool());
  EXPECT_NEAR(static_cast<double>(result.json.at("execution_ms").to_number<std::int64_t>()),
              static_cast<double>(result.usage("wall_us")) / 1000, 1);
}

TEST_P(Limits, AKilledCellsUsageIsToldToo) {
  const CellResult result =
      attack({"stay", "busy", "-"}, {"--timeout", "1s", "--cpu", "60s", "--cpus", "2"});
  EXPECT_TRUE(killed_for(result, "timeout", 124));
  EXPECT_THAT(result.cpu_seconds(), AllOf(Ge(0.2), Le(2.0)));
  EXPECT_TRUE(result.json.at("usage").at("final").as_bool());
}

TEST_P(Limits, ACommandThatIsOverAtOnceHasUsedSomething) {
  for (int i = 0; i < 20; ++i) {
    const CellResult result = attack({"--list"}, {});
    ASSERT_EQ(result.exit_code, 0);
    EXPECT_GT(result.usage("wall_us"), 0);
    EXPECT_EQ(result.usage("processes"), 1);
  }
}

// ---- Stuck in the kernel

// A v1 freezer: what is in it does not even die of SIGKILL.
class Freezer {
 public:
  Freezer() {
    std::string hierarchy = "/sys/fs/cgroup/freezer";
    if (!std::filesystem::exists(hierarchy + "/tasks")) {
      EXPECT_EQ(::mount("cgroup", mount_.path().c_str(), "cgroup", 0, "freezer"), 0)
          << "this test needs the freezer of cgroup v1: " << std::strerror(errno);
      mounted_ = true;
      hierarchy = mount_.path();
    }
    group_ = hierarchy + "/freezer-of-test-" + std::to_string(::getpid());
    EXPECT_EQ(::mkdir(group_.c_str(), 0755), 0) << std::strerror(errno);
  }
  ~Freezer() {
    thaw();
    EXPECT_TRUE(eventually([&] { return ::rmdir(group_.c_str()) == 0; })) << std::strerror(errno);
    if (mounted_) EXPECT_EQ(::umount2(mount_.path().c_str(), MNT_DETACH), 0);
  }
  void freeze(const std::vector<pid_t>& processes) const {
    for (const pid_t pid : processes)
      put("cgroup.procs", std::to_string(pid));
    put("freezer.state", "FROZEN");
    EXPECT_TRUE(eventually([&] { return read_file(group_ + "/freezer.state") == "FROZEN\n"; }));
  }
  void thaw() const { put("freezer.state", "THAWED"); }

 private:
  void put(const char* file, const std::string& text) const {
    std::ofstream(group_ + "/" + file) << text;
  }
  TempDir mount_;
  bool mounted_ = false;
  std::string group_;
};

TEST_P(Limits, TheAnswerComesInTimeAlsoWhenTheCellIsStuckInTheKernel) {
  const std::string word = unique_word();
  const Freezer freezer;
  std::vector<std::string> args = probe_grant();
  for (const std::string& text :
       {std::string("--json"), std::string("--timeout"), std::string("2s"), std::string("--"),
        probe_inside(), std::string("stay"), std::string("sleep"), word})
    args.push_back(text);
  LiveProcess cell = start_cell(GetParam(), args);
  const pid_t launcher = cell.pid();
  std::vector<pid_t> inside;
  ASSERT_TRUE(eventually([&] {
    inside = descendants_of(launcher);
    return inside.size() == 2 && status_of(inside.back(), "Name") == "probe";
  }));
  freezer.freeze(inside);

  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(cell.says("\"final\":false")) << cell.said();
  EXPECT_EQ(cell.wait(), 124);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
  EXPECT_THAT(cell.said(), HasSubstr("\"reason\":\"timeout\""));
  EXPECT_THAT(processes_with(word), Contains(inside.back())) << "it was not stuck";

  freezer.thaw();
  EXPECT_TRUE(eventually([&] { return processes_with(word).empty(); }))
      << "it went on when nothing held it any more";
  EXPECT_EQ(run_cell(GetParam(), {"--", "true"}).exit_code, 0);
  EXPECT_THAT(cell_cgroups(launcher), IsEmpty()) << "the next run did not sweep";
}

SALLYPORT_FOR_ROOT_AND_USER(Limits);

}  // namespace
}  // namespace sallyport::test
