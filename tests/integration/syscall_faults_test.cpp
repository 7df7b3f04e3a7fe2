// Fail closed, down to the single system call: whatever call of the launch fails, the tool never
// starts. "Fault-inject every setup syscall: the tool must never start" (dify-sandbox#248,
// nsjail#334: failures that were ignored, or only logged).
//
// The test traces the real program and lets one call of the cell's init fail, from its first to the
// execve of the tool, each in a run of its own. For the few calls whose failure may pass, the tool
// writes down all that holds it, which must read as in a run without a fault.
#include <gmock/gmock.h>
#include <grp.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>

#include <map>
#include <optional>

#include "kernel/seccomp_names.h"
#include "support/leftovers.h"

namespace sallyport::test {
namespace {

using Clock = std::chrono::steady_clock;
using testing::AnyOf;
using testing::IsEmpty;

// Calls that may fail without anybody noticing, and why.
const std::map<std::string, const char*> kHarmless = {
    {"close", "init's descriptors end with the tool's own close_range"},
    {"prctl PR_SET_NAME", "a name for people who read a list of processes"},
};

// Calls that cannot fail with the arguments they are given (POSIX, and the kernel's source).
const std::map<std::string, const char*> kCannotFail = {
    {"umask", "always succeeds"},
    {"rt_sigaction", "fails for numbers and addresses that do not exist only"},
    {"rt_sigprocmask", "the same"},
};

struct Fault {
  std::size_t call;  // index into the calls of a launch without a fault
  int error;
};

struct Call {
  std::string name;
  bool failed = false;
};

struct Traced {
  int exit_code = -1;
  std::vector<Call> calls;  // of init and of its child, up to the tool's execve
  bool injected = false;
  bool in_time = true;
};

std::string name_of(const user_regs_struct& registers) {
  const std::string name(call_names()[registers.orig_rax]);
  const bool is_set_name = registers.orig_rax == SYS_prctl && registers.rdi == PR_SET_NAME;
  return is_set_name ? name + " PR_SET_NAME" : name;
}

// Runs a program to its end and follows the init of the cell that it makes.
class Tracer {
 public:
  explicit Tracer(std::optional<Fault> fault) : fault_(fault) {}

  Traced run(const std::vector<std::string>& argv, As as, const std::string& output) {
    sigset_t child_signal, before;
    ::sigemptyset(&child_signal);
    ::sigaddset(&child_signal, SIGCHLD);
    ::sigprocmask(SIG_BLOCK, &child_signal, &before);
    start(argv, as, output, before);
    const auto deadline = Clock::now() + std::chrono::seconds(30);
    for (int status = 0; !tracees_.empty();) {
      const pid_t pid = ::waitpid(-1, &status, __WALL | WNOHANG);
      if (pid > 0) {
        handle(pid, status);
        continue;
      }
      if (pid < 0) break;
      if (Clock::now() > deadline) {
        traced_.in_time = false;
        for (const pid_t tracee : tracees_)
          ::kill(tracee, SIGKILL);
      }
      const timespec pause{.tv_sec = 1, .tv_nsec = 0};
      ::sigtimedwait(&child_signal, nullptr, &pause);
    }
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    return std::move(traced_);
  }

 private:
  void start(const std::vector<std::string>& argv, As as, const std::string& output,
             const sigset_t& mask) {
    launcher_ = ::fork();
    if (launcher_ == 0) {
      ::sigprocmask(SIG_SETMASK, &mask, nullptr);
      const int null = ::open("/dev/null", O_RDONLY);
      const int file = ::open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
      ::dup2(null, 0);
      ::dup2(file, 1);
      ::dup2(file, 2);
      if (as == As::user &&
          (::setgroups(0, nullptr) != 0 || ::setresgid(kUserGid, kUserGid, kUserGid) != 0 ||
           ::setresuid(kUserUid, kUserUid, kUserUid) != 0))
        ::_exit(99);
      std::vector<char*> words;
      for (const std::string& word : argv)
        words.push_back(const_cast<char*>(word.c_str()));
      words.push_back(nullptr);
      char path[] = "PATH=/usr/bin:/bin";
      char* environment[] = {path, nullptr};
      ::ptrace(PTRACE_TRACEME);
      ::raise(SIGSTOP);
      ::execve(words[0], words.data(), environment);
      ::_exit(98);
    }
    tracees_ = {launcher_};
    int status = 0;
    EXPECT_EQ(::waitpid(launcher_, &status, 0), launcher_);
    constexpr int kOptions = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK |
                             PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
    EXPECT_EQ(::ptrace(PTRACE_SETOPTIONS, launcher_, nullptr, kOptions), 0);
    go_on(launcher_);
  }

  void handle(pid_t pid, int status) {
    if (!WIFSTOPPED(status)) {
      tracees_.erase(pid);
      if (pid == launcher_)
        traced_.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      return;
    }
    // A child may stop for the first time before its parent tells of it; it waits until we know
    // whose it is.
    if (!tracees_.contains(pid)) {
      unannounced_.insert(pid);
      return;
    }
    const int signal = WSTOPSIG(status), event = status >> 16;
    if (signal == (SIGTRAP | 0x80)) return at_call(pid);
    if (event == PTRACE_EVENT_CLONE || event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK)
      at_birth(pid);
    if (event == PTRACE_EVENT_EXEC && pid != launcher_) tool_runs_ = true;
    // The stop with which a tracee begins, and those of events, are not for the tracee.
    go_on(pid, signal == SIGTRAP || signal == SIGSTOP ? 0 : signal);
  }

  void at_birth(pid_t parent) {
    unsigned long message = 0;
    ::ptrace(PTRACE_GETEVENTMSG, parent, nullptr, &message);
    const auto child = static_cast<pid_t>(message);
    tracees_.insert(child);
    // What the launcher starts later are threads of its own.
    if (parent == launcher_ && makes_cell_ && init_ == 0) watched_.insert(init_ = child);
    if (parent == init_) watched_.insert(runner_ = child);  // until it becomes the tool
    if (unannounced_.erase(child) != 0) go_on(child);
  }

  void at_call(pid_t pid) {
    user_regs_struct registers{};
    ::ptrace(PTRACE_GETREGS, pid, nullptr, &registers);
    if (pid == launcher_) {
      makes_cell_ = registers.orig_rax == SYS_clone3 && makes_pid_namespace(pid, registers.rdi);
    } else if (const auto call = under_way_.find(pid); call != under_way_.end()) {
      if (failing_ == pid) {
        registers.rax = static_cast<unsigned long long>(-fault_->error);
        ::ptrace(PTRACE_SETREGS, pid, nullptr, &registers);
        failing_ = 0;
        traced_.injected = true;
      }
      traced_.calls[call->second].failed = static_cast<long long>(registers.rax) < 0;
      under_way_.erase(call);
    } else if (!tool_runs_ && (pid != init_ || runner_ == 0)) {
      // Init goes on when its child has become the tool, perhaps before we hear of that.
      under_way_[pid] = traced_.calls.size();
      if (fault_ && traced_.calls.size() == fault_->call) {
        failing_ = pid;
        // A call in its place that does nothing, and that the filter lets pass.
        registers.orig_rax = SYS_getpid;
        ::ptrace(PTRACE_SETREGS, pid, nullptr, &registers);
      }
      traced_.calls.push_back({name_of(registers)});
    }
    go_on(pid);
  }

  void go_on(pid_t pid, int signal = 0) {
    const bool watch =
        pid == launcher_ ? init_ == 0 : watched_.contains(pid) && !tool_runs_ && !traced_.injected;
    ::ptrace(watch ? PTRACE_SYSCALL : PTRACE_CONT, pid, nullptr, signal);
  }

  static bool makes_pid_namespace(pid_t pid, unsigned long long clone_arguments) {
    const auto flags = static_cast<std::uint64_t>(
        ::ptrace(PTRACE_PEEKDATA, pid, clone_arguments + offsetof(clone_args, flags), nullptr));
    return (flags & CLONE_NEWPID) != 0;
  }

  const std::optional<Fault> fault_;
  Traced traced_;
  pid_t launcher_ = 0, init_ = 0, runner_ = 0, failing_ = 0;
  bool makes_cell_ = false, tool_runs_ = false;
  std::set<pid_t> tracees_, watched_, unannounced_;
  std::map<pid_t, std::size_t> under_way_;  // which call a tracee is in
};

class SyscallFaults : public CellTest {
 protected:
  SyscallFaults() {
    write_file(input_ / "input", "input", GetParam());
    command_ = {sallyport_path(), "run", "--hostname", "cell", "--in", input_ / "input"};
    for (const std::string& word : probe_grant())
      command_.push_back(word);
    command_.insert(command_.end(), {"--write", work_.path() + ":/work", "--", probe_inside(),
                                     "look-around", "/work/canary"});
  }

  Traced launch(std::optional<Fault> fault) const {
    std::filesystem::remove(log());
    return Tracer(fault).run(command_, GetParam(), log());
  }

  // What the tool saw; nothing if it never ran. Its namespaces are not those of the host, and then
  // left out, as their numbers are others in each cell.
  [[nodiscard]] std::optional<std::string> take_canary() const {
    if (!std::filesystem::exists(work_ / "canary")) return std::nullopt;
    std::istringstream lines(read_file(work_ / "canary"));
    std::filesystem::remove(work_ / "canary");
    std::string rest;
    int namespaces = 0;
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("namespace ")) {
        rest.append(line).append("\n");
        continue;
      }
      const std::string theirs = line.substr(10), kind = theirs.substr(0, theirs.find(':'));
      EXPECT_NE(std::filesystem::read_symlink("/proc/self/ns/" + kind), theirs);
      ++namespaces;
    }
    EXPECT_EQ(namespaces, 7);
    return rest;
  }

  void expect_fail_closed(const Call& call, const Fault& fault, const std::string& undisturbed) {
    SCOPED_TRACE(call.name + ", call " + std::to_string(fault.call) + ", " +
                 std::strerror(fault.error));
    const Traced traced = launch(fault);
    EXPECT_TRUE(traced.injected) << "the fault was not reached";
    EXPECT_TRUE(traced.in_time);
    const auto seen = take_canary();
    if (!seen) {
      // Between the last step and execve it is 126, as for a command that cannot be executed.
      EXPECT_THAT(traced.exit_code, AnyOf(125, 126));
      EXPECT_THAT(read_file(log()), testing::StartsWith("sallyport: "));
      return;
    }
    EXPECT_TRUE(kHarmless.contains(call.name)) << "the tool was started all the same";
    EXPECT_EQ(*seen, undisturbed) << "the tool was started, and something of its cell was missing";
  }

  // One run for each call that `wanted` chooses.
  template <class Wanted>
  int inject(int error, Wanted wanted) {
    const std::string word = unique_word();
    const auto before = traces(word);
    const Traced whole = launch(std::nullopt);
    const auto undisturbed = take_canary();
    EXPECT_EQ(whole.exit_code, 0) << read_file(log());
    EXPECT_TRUE(undisturbed) << "the twin: without a fault the tool runs";
    if (!undisturbed) return 0;
    int injected = 0;
    std::map<std::string, int> count;
    for (std::size_t i = 0; i < whole.calls.size(); ++i) {
      const Call& call = whole.calls[i];
      // What fails anyway is how a loop finds its end.
      if (call.failed || kCannotFail.contains(call.name) || !wanted(call, ++count[call.name]))
        continue;
      expect_fail_closed(call, {i, error}, *undisturbed);
      ++injected;
    }
    EXPECT_THAT(left_since(before, word), IsEmpty());
    return injected;
  }

  [[nodiscard]] std::string log() const { return log_ / "log"; }

  TempDir work_{GetParam()}, input_{GetParam()}, log_;
  std::vector<std::string> command_;
};

TEST_P(SyscallFaults, KeepTheToolFromStarting) {
  const int injected = inject(EPERM, [](const Call& call, int number) {
    // There are more than a hundred of these, and they are all alike.
    return call.name != "close" || number % 16 == 0;
  });
  EXPECT_GT(injected, 300);
}

// A kernel that does not know a call must not be taken for one that has carried it out.
TEST_P(SyscallFaults, OfAKernelThatIsTooOldKeepTheToolFromStarting) {
  const std::set<std::string> layers = {"capset",
                                        "close_range",
                                        "fsconfig",
                                        "fsmount",
                                        "fsopen",
                                        "landlock_add_rule",
                                        "mount_setattr",
                                        "landlock_create_ruleset",
                                        "landlock_restrict_self",
                                        "move_mount",
                                        "open_tree",
                                        "openat2",
                                        "pivot_root",
                                        "prctl",
                                        "prlimit64",
                                        "seccomp",
                                        "setresgid",
                                        "setresuid",
                                        "setgroups",
                                        "umount2",
                                        "unshare",
                                        "sethostname",
                                        "setsid"};
  const int injected = inject(ENOSYS, [&](const Call& call, int number) {
    return layers.contains(call.name) && number % 4 == 1;
  });
  EXPECT_GT(injected, 50);
}

SALLYPORT_FOR_ROOT_AND_USER(SyscallFaults);

}  // namespace
}  // namespace sallyport::test
