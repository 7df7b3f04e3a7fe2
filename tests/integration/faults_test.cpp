// Fail closed: every step of the launch is made to fail in turn. The command must never start, the
// answer names the step, and nothing is left behind.
#include <grp.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <map>

#include "cell/run.h"
#include "cell/steps.h"
#include "support/leftovers.h"

namespace sallyport::test {
namespace {

// What a launch with a fault came to, told by the child that tried it.
struct Attempt {
  Status status;
  Reason reason;
  char message[512];
};

// In a child, because a launch changes the process (it is no longer dumpable) and the ordinary user
// must be one.
Attempt launch_with_fault(As as, const CellSpec& spec, const std::string& step) {
  int ends[2];
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    if (as == As::user &&
        (::setgroups(0, nullptr) != 0 || ::setresgid(kUserGid, kUserGid, kUserGid) != 0 ||
         ::setresuid(kUserUid, kUserUid, kUserUid) != 0))
      ::_exit(99);
    const LaunchFault fault{step};
    const Outcome outcome =
        sallyport::run_cell(spec, CellStreams{}, step.empty() ? nullptr : &fault);
    Attempt attempt{outcome.status, outcome.reason, {}};
    outcome.message.copy(attempt.message, sizeof(attempt.message) - 1);
    static_cast<void>(!::write(ends[1], &attempt, sizeof(attempt)));
    ::_exit(0);
  }
  ::close(ends[1]);
  Attempt attempt{};
  EXPECT_EQ(::read(ends[0], &attempt, sizeof(attempt)), static_cast<ssize_t>(sizeof(attempt)));
  ::close(ends[0]);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  return attempt;
}

class Faults : public CellTest {
 protected:
  Faults() {
    spec.command = {"sh", "-c", "echo ran >/work/canary"};
    spec.grants = {Grant{.host = work.path(), .inside = "/work", .write = true}};
  }
  [[nodiscard]] bool ran() const { return std::filesystem::exists(work / "canary"); }

  TempDir work{GetParam()};
  CellSpec spec;
};

TEST_P(Faults, WithoutOneTheCommandRuns) {
  const Attempt attempt = launch_with_fault(GetParam(), spec, "");
  EXPECT_EQ(attempt.status, Status::success) << attempt.message;
  EXPECT_TRUE(ran()) << "the twin: the canary shows that a command ran";
}

TEST_P(Faults, InAnyStepOfTheLaunchMeanThatNothingRuns) {
  const std::string word = unique_word();
  const auto before = traces(word);
  for (const Step& step : launch_steps()) {
    const Attempt attempt = launch_with_fault(GetParam(), spec, step.name);
    EXPECT_EQ(attempt.status, Status::blocked) << step.name;
    EXPECT_NE(attempt.reason, Reason::none) << step.name;
    EXPECT_NE(std::string(attempt.message).find(step.name), std::string::npos) << attempt.message;
    EXPECT_FALSE(ran()) << step.name;
  }
  EXPECT_EQ(left_since(before, word), std::set<std::string>{});
}

// ---- The same with the real program, one system call at a time
// --------------------------------------------------------

// The calls of a launch up to the tool's execve: by name, how often the process that makes most of
// them makes it. strace counts by process too, so the k-th call of the supervisor and the k-th of
// init fail in one go.
std::map<std::string, int> calls_of_launch(const std::vector<std::string>& command, As as) {
  const TempDir directory(as);
  const std::string log = directory / "log";
  std::vector<std::string> traced = {"strace", "-f", "-qq", "-o", log};
  traced.insert(traced.end(), command.begin(), command.end());
  const Ran ran = run(traced, RunOptions{.as = as});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  std::map<std::pair<std::string, std::string>, int> by_process;
  std::map<std::string, int> most;
  std::istringstream lines(read_file(log));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string pid, name;
    words >> pid;
    std::getline(words >> std::ws, name, '(');
    if (line.find("resumed>") != std::string::npos || !words) continue;
    if (name == "execve" && most["execve"] > 0) break;  // the second one is the tool's
    most[name] = std::max(most[name], ++by_process[{pid, name}]);
  }
  return most;
}

// Calls that may fail without harm, and why. The cell must be whole all the same.
const std::map<std::string, std::string> kMayFail = {
    {"prctl",
     "the bounding set is dropped until a capability is refused that the kernel does not have"},
    {"prlimit64", "the supervisor reads its own limits, so as not to ask for more than it has"},
};

// The tool looks at itself and says whether it is held by what can be seen from inside.
constexpr const char* kLookAround =
    "case \"$(tr -s '\\t\\n' '  ' </proc/self/status)\" in"
    " *'CapEff: 0000000000000000 CapBnd: 0000000000000000 CapAmb: 0000000000000000 NoNewPrivs: 1 "
    "Seccomp: 2'*)"
    " [ $(ulimit -n) = 256 ] && [ $(ulimit -c) = 0 ] && exec mkdir /work/held;; esac; exec mkdir "
    "/work/loose";

TEST_P(Faults, InAnySystemCallOfTheLaunchMeanThatNothingRunsLoose) {
  const std::vector<std::string> command = {
      sallyport_path(), "run", "--write", work.path() + ":/work", "--", "sh", "-c", kLookAround};
  const std::map<std::string, int> calls = calls_of_launch(command, GetParam());
  ASSERT_GT(calls.at("mount_setattr"), 5) << "the trace must show the launch";
  ASSERT_TRUE(std::filesystem::remove(work / "held"))
      << "the twin: without a fault the command runs";

  int injected = 0;
  for (const char* name : {"mount_setattr",
                           "move_mount",
                           "open_tree",
                           "fsmount",
                           "fsopen",
                           "fsconfig",
                           "pivot_root",
                           "umount2",
                           "unshare",
                           "setresuid",
                           "setresgid",
                           "setgroups",
                           "capset",
                           "seccomp",
                           "landlock_create_ruleset",
                           "landlock_add_rule",
                           "landlock_restrict_self",
                           "setsid",
                           "keyctl",
                           "chdir",
                           "sethostname",
                           "setdomainname",
                           "ioctl",
                           "close_range",
                           "sendmsg",
                           "clone3",
                           "fchown",
                           "fchdir",
                           "prctl",
                           "prlimit64",
                           "write"}) {
    const auto found = calls.find(name);
    if (found == calls.end()) continue;  // this launcher has no need of it
    for (int k = 1; k <= found->second; ++k) {
      const std::string inject =
          std::string("inject=") + name + ":error=EPERM:when=" + std::to_string(k);
      std::vector<std::string> traced = {"strace", "-f",         "-qq", "-o",  "/dev/null",
                                         "-e",     "trace=none", "-e",  inject};
      traced.insert(traced.end(), command.begin(), command.end());
      const Ran result = run(traced, RunOptions{.as = GetParam()});
      ++injected;
      const std::string which = std::string(name) + " number " + std::to_string(k);
      EXPECT_FALSE(std::filesystem::remove(work / "loose"))
          << which << " failed and the command ran loose";
      if (std::filesystem::remove(work / "held"))
        EXPECT_TRUE(kMayFail.contains(name))
            << which << " failed and the command ran: " << result.err;
      else
        EXPECT_EQ(result.exit_code, 125) << which << ": " << result.err;
    }
  }
  EXPECT_GT(injected, 100);
}

SALLYPORT_FOR_ROOT_AND_USER(Faults);

}  // namespace
}  // namespace sallyport::test
