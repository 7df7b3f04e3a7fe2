// Fail closed, down to the single system call: whatever call of the launch fails, the tool either
// never starts, or starts in a cell that lacks nothing. "Fault-inject every setup syscall: the tool
// must never start" (dify-sandbox#248, nsjail#334: failures that were only logged).
//
// The test traces the real program and lets one call of the cell's init fail, from its first to the
// execve of the tool, each in a run of its own. A tool that does start writes down all that holds
// it, which must read as in a run without a fault.
#include <gmock/gmock.h>
#include <grp.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "kernel/seccomp_names.h"
#include "support/live_process.h"

namespace sallyport::test {
namespace {

using Clock = std::chrono::steady_clock;

// Calls whose failure may pass unnoticed, and why. Everything else must keep the tool from
// starting.
const std::map<std::string, const char*> kHarmless = {
    {"close", "what stays open in init is closed by the tool's own close_range"},
};

struct Fault {
  int call;  // the how manieth of init
  int error;
};

struct Traced {
  int exit_code = -1;
  std::vector<std::string> calls;  // of init, in order, up to the tool's execve
  bool in_time = true;
};

class Tracer {
 public:
  explicit Tracer(std::optional<Fault> fault) : fault_(fault) {}

  Traced run(const std::vector<std::string>& argv, As as, const std::string& output) {
    sigset_t child_signal, before;
    ::sigemptyset(&child_signal);
    ::sigaddset(&child_signal, SIGCHLD);
    ::sigprocmask(SIG_BLOCK, &child_signal, &before);
    first_ = start(argv, as, output, before);
    const auto deadline = Clock::now() + std::chrono::seconds(30);
    while (first_ > 0) {
      int status = 0;
      const pid_t pid = ::waitpid(-1, &status, __WALL | WNOHANG);
      if (pid > 0) {
        handle(pid, status);
        continue;
      }
      if (Clock::now() > deadline) {
        traced_.in_time = false;
        ::kill(first_, SIGKILL);
      }
      const timespec pause{.tv_sec = 1, .tv_nsec = 0};
      ::sigtimedwait(&child_signal, nullptr, &pause);
    }
    // Who is left was let go by the death of the first, and is killed by it.
    while (::waitpid(-1, nullptr, __WALL) > 0) {
    }
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    return std::move(traced_);
  }

 private:
  static constexpr int kOptions = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK |
                                  PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;

  static pid_t start(const std::vector<std::string>& argv, As as, const std::string& output,
                     const sigset_t& mask) {
    const pid_t pid = ::fork();
    if (pid != 0) {
      int status = 0;
      EXPECT_EQ(::waitpid(pid, &status, 0), pid);
      EXPECT_EQ(::ptrace(PTRACE_SETOPTIONS, pid, nullptr, kOptions), 0);
      ::ptrace(PTRACE_SYSCALL, pid, nullptr, nullptr);
      return pid;
    }
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

  void handle(pid_t pid, int status) {
    if (WIFEXITED(status) || WIFSIGNALED(status)) {
      if (pid == first_) {
        traced_.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        first_ = -1;
      }
      return;
    }
    const int signal = WSTOPSIG(status), event = status >> 16;
    if (signal == (SIGTRAP | 0x80)) return at_call(pid);
    if (event == PTRACE_EVENT_CLONE || event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK) {
      unsigned long born = 0;
      ::ptrace(PTRACE_GETEVENTMSG, pid, nullptr, &born);
      if (pid == first_ && makes_cell_) watched_.push_back(init_ = static_cast<pid_t>(born));
      // Init's child, until it becomes the tool.
      if (pid == init_) watched_.push_back(static_cast<pid_t>(born));
    }
    if (event == PTRACE_EVENT_EXEC && pid != first_) tool_runs_ = true;
    // The stop with which a new tracee begins, and those of events, are not for the tracee.
    const bool ours = signal == SIGTRAP || signal == SIGSTOP;
    go_on(pid, ours ? 0 : signal);
  }

  void go_on(pid_t pid, int signal = 0) {
    const bool interesting =
        pid == first_ ? init_ == 0
                      : (!tool_runs_ && std::ranges::find(watched_, pid) != watched_.end()) ||
                            entered_.contains(pid);
    ::ptrace(interesting ? PTRACE_SYSCALL : PTRACE_CONT, pid, nullptr, signal);
  }

  void at_call(pid_t pid) {
    user_regs_struct registers{};
    ::ptrace(PTRACE_GETREGS, pid, nullptr, &registers);
    if (pid == first_) {
      makes_cell_ = registers.orig_rax == SYS_clone3 && is_for_cell(pid, registers.rdi);
      return go_on(pid);
    }
    if (entered_.erase(pid) != 0) {
      if (failing_ == pid) {
        registers.rax = static_cast<unsigned long long>(-fault_->error);
        ::ptrace(PTRACE_SETREGS, pid, nullptr, &registers);
        failing_ = 0;
      }
      return go_on(pid);
    }
    entered_.insert(pid);
    traced_.calls.push_back(std::string(call_names()[registers.orig_rax]));
    if (fault_ && static_cast<int>(traced_.calls.size()) == fault_->call) {
      // Another call in its place, which the filter lets pass.
      registers.orig_rax = SYS_getpid;
      ::ptrace(PTRACE_SETREGS, pid, nullptr, &registers);
      failing_ = pid;
    }
    go_on(pid);
  }

  static bool is_for_cell(pid_t pid, unsigned long long address) {
    const auto flags = static_cast<std::uint64_t>(
        ::ptrace(PTRACE_PEEKDATA, pid, address + offsetof(clone_args, flags), nullptr));
    return (flags & CLONE_NEWPID) != 0;
  }

  std::optional<Fault> fault_;
  Traced traced_;
  pid_t first_ = 0, init_ = 0, failing_ = 0;
  bool makes_cell_ = false, tool_runs_ = false;
  std::vector<pid_t> watched_;
  std::set<pid_t> entered_;
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

  // What the tool saw, or nothing if it never ran. What it says of namespaces must be true of any
  // cell, and is left out.
  std::optional<std::string> take_canary() {
    if (!std::filesystem::exists(canary())) return std::nullopt;
    std::istringstream lines(read_file(canary()));
    std::filesystem::remove(canary());
    std::string rest;
    int namespaces = 0;
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("namespace ")) {
        rest.append(line).append("\n");
        continue;
      }
      ++namespaces;
      const std::string name = line.substr(10);
      const auto ours =
          std::filesystem::read_symlink("/proc/self/ns/" + name.substr(0, name.find(':')));
      EXPECT_NE(ours, name) << "a namespace of the host";
    }
    EXPECT_EQ(namespaces, 7);
    return rest;
  }

  Traced launch(std::optional<Fault> fault) {
    std::filesystem::remove(log());
    return Tracer(fault).run(command_, GetParam(), log());
  }
  [[nodiscard]] std::string canary() const { return work_ / "canary"; }
  [[nodiscard]] std::string log() const { return log_ / "log"; }

  TempDir work_{GetParam()}, input_{GetParam()}, log_;
  std::vector<std::string> command_;
};

TEST_P(SyscallFaults, X) {
  const Traced whole = launch(std::nullopt);
  std::string all;
  std::map<std::string, int> n;
  for (auto& c : whole.calls)
    n[c]++;
  for (auto& [c, k] : n)
    std::printf("%s %d\n", c.c_str(), k);
  std::printf("exit %d, %zu calls\n%s\n", whole.exit_code, whole.calls.size(),
              read_file(log()).c_str());
  const auto seen = take_canary();
  std::printf("%s\n", seen.value_or("none").c_str());
  int i = 0;
  for (auto& c : whole.calls) {
    ++i;
    const Traced t = launch(Fault{i, EPERM});
    const auto saw = take_canary();
    if (saw)
      std::printf("%d %s: ran, exit %d %s\n", i, c.c_str(), t.exit_code,
                  *saw == *seen ? "same" : "DIFFERENT");
    else if (t.exit_code != 125)
      std::printf("%d %s: did not run, exit %d: %s\n", i, c.c_str(), t.exit_code,
                  read_file(log()).c_str());
  }
}

SALLYPORT_FOR_ROOT_AND_USER(SyscallFaults);

}  // namespace
}  // namespace sallyport::test
