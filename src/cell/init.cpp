#include "cell/init.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "base/clock.h"
#include "cell/control.h"
#include "cell/spec.h"
#include "cell/steps.h"

namespace sallyport {
namespace {

// The launcher's arguments and environment are still in memory that /proc/1/cmdline and
// /proc/1/environ show.
void hide_launcher_text(const Plan& plan) {
  if (plan.process_text_size > sizeof(kInitName)) {
    std::memset(plan.process_text, 0, plan.process_text_size);
    std::memcpy(plan.process_text, kInitName, sizeof(kInitName));
  }
  ::prctl(PR_SET_NAME, kInitName);
}

bool run_steps(Launch& launch) {
  int index = 0;
  for (const Step& step : launch_steps()) {
    launch.board.step = index;
    const Sys<void> done = launch.plan.fail_before == index
                               ? sys_fail("injected fault", step.name, EIO)
                               : step.run(launch);
    launch.board.step_end_ns[index] = monotonic_ns();
    if (!done) {
      launch.board.report(done.error());
      return false;
    }
    ++index;
  }
  return true;
}

// What the child of vfork leaves for init: why it could not get ready, or why no program could be
// executed.
struct StartErrors {
  int failed = 0;
  int refused = 0;
};

// Runs in the child of vfork: it shares init's memory until execve and may only make system calls.
[[noreturn]] void exec_tool(const Plan& plan, int stdin_fd, volatile StartErrors* start) {
  const bool own_session = ::setsid() >= 0;
  for (int number = 1; number < NSIG; ++number) {
    // A write past the file size limit is an error to the tool, not its death.
    const auto disposition = number == SIGXFSZ ? SIG_IGN : SIG_DFL;
    ::signal(number, disposition);
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  bool ready = own_session && ::dup2(stdin_fd, 0) == 0 && ::dup2(plan.stdout_write.get(), 1) == 1 &&
               ::dup2(plan.stderr_write.get(), 2) == 2;
  unsigned next = 3;
  if (plan.connection) {
    // It may have the number already, and dup2 would leave its close-on-exec alone.
    ready = ready && ::dup2(plan.connection.get(), kConnection) == kConnection &&
            ::fcntl(kConnection, F_SETFD, 0) == 0;
    next = kConnection + 1;
  }
  if (!ready || ::close_range(next, ~0U, 0) != 0) {
    start->failed = errno;
    ::_exit(127);
  }
  int worst = ENOENT;
  for (const std::string& path : plan.executables) {
    ::execve(path.c_str(), const_cast<char* const*>(plan.argv.data()),
             const_cast<char* const*>(plan.envp.data()));
    if (errno != ENOENT && errno != ENOTDIR) worst = errno;
  }
  start->refused = worst;
  ::_exit(127);
}

// Adopts every orphan of the cell; returns when the tool itself has ended.
void reap_until(pid_t tool, int control, int child_signals, Board& board) {
  pollfd events[] = {{.fd = control, .events = 0, .revents = 0},
                     {.fd = child_signals, .events = POLLIN, .revents = 0}};
  for (;;) {
    int status = 0;
    for (pid_t ended; (ended = ::waitpid(-1, &status, WNOHANG)) > 0;) {
      if (ended != tool) continue;
      board.tool_status = status;
      board.tool_ended = true;
      return;
    }
    ::ppoll(events, 2, nullptr, nullptr);
    if (events[0].revents != 0) return;  // the supervisor is gone
    signalfd_siginfo info{};
    if (events[1].revents != 0) static_cast<void>(!::read(child_signals, &info, sizeof(info)));
  }
}

}  // namespace

void run_init(Plan& plan, Board& board) {
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  hide_launcher_text(plan);

  Launch launch{.plan = plan,
                .board = board,
                .host_proc = {},
                .proc = {},
                .watched_proc = {},
                .root = {},
                .scratch = {},
                .listener = {},
                .name_server = {}};
  if (!run_steps(launch)) ::_exit(1);

  ::umask(022);
  sigset_t child;
  ::sigemptyset(&child);
  ::sigaddset(&child, SIGCHLD);
  Fd child_signals(::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
  Fd null(plan.stdin_read ? -1 : ::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int stdin_fd = plan.stdin_read ? plan.stdin_read.get() : null.get();

  volatile StartErrors start;
  board.run_ns =
      monotonic_ns();  // before, so that no answer says that nothing ran when something may have
  const pid_t tool = child_signals && stdin_fd >= 0 ? ::vfork() : -1;
  if (tool == 0) exec_tool(plan, stdin_fd, &start);
  if (tool < 0) start.failed = errno;
  if (start.failed != 0) {
    board.report({"vfork", "the tool's process", start.failed});
    ::_exit(1);
  }
  if (start.refused != 0) {
    board.exec_errno = start.refused;
    ::_exit(1);
  }
  plan.stdin_read.reset();
  plan.stdout_write.reset();
  plan.stderr_write.reset();
  plan.connection.reset();
  null.reset();
  if (send_message(plan.control.get(), ControlMessage::started))
    reap_until(tool, plan.control.get(), child_signals.get(), board);
  ::_exit(0);
}

}  // namespace sallyport
