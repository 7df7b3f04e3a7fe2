#include "cell/init.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <utility>

#include "base/clock.h"
#include "cell/control.h"
#include "cell/ignored_signals.h"
#include "cell/spec.h"
#include "cell/steps.h"

namespace sallyport {
namespace {

// What is left to do when the cell is made, with nothing of the plan's memory in it.
struct Start {
  const Order* order;
  bool parked;
  bool waits_for_end;
  std::uint64_t ignored_signals;
  Fd stdin_read, stdout_write, stderr_write, connection, image, control;
};

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
[[noreturn]] void exec_tool(const Start& start, int stdin_fd, volatile StartErrors* errors) {
  const bool own_session = ::setsid() >= 0;
  // Init has no handlers, so that all others have their default already.
  for (int number = 1; number < NSIG; ++number)
    if (is_ignored(start.ignored_signals, number)) ::signal(number, SIG_DFL);
  // A write past the file size limit is an error to the tool, not its death.
  ::signal(SIGXFSZ, SIG_IGN);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  bool ready = own_session && ::dup2(stdin_fd, 0) == 0 &&
               ::dup2(start.stdout_write.get(), 1) == 1 && ::dup2(start.stderr_write.get(), 2) == 2;
  unsigned next = 3;
  for (const auto& [given, number] :
       {std::pair(&start.connection, kConnection), std::pair(&start.image, kImage)}) {
    if (!*given) break;
    // It may have the number already, and dup2 would leave its close-on-exec alone.
    ready = ready && ::dup2(given->get(), number) == number && ::fcntl(number, F_SETFD, 0) == 0;
    next = static_cast<unsigned>(number) + 1;
  }
  if (!ready || ::close_range(next, ~0U, 0) != 0) {
    errors->failed = errno;
    ::_exit(127);
  }
  int worst = ENOENT;
  const Order& order = *start.order;
  for (const char* const* path = order.executables; *path != nullptr; ++path) {
    ::execve(*path, const_cast<char* const*>(order.argv), const_cast<char* const*>(order.envp));
    if (errno != ENOENT && errno != ENOTDIR) worst = errno;
  }
  errors->refused = worst;
  ::_exit(127);
}

// Ends what the tool has left running. Whatever there is in the cell descends from init, so when
// init has no child any more, it is alone.
void end_others() {
  int status = 0;
  if (::waitpid(-1, &status, WNOHANG) < 0) return;
  ::kill(-1, SIGKILL);
  while (::waitpid(-1, &status, 0) > 0 || errno == EINTR)
    ;
}

// Adopts every orphan of the cell; returns when the tool itself has ended, and everything with it.
void reap_until(pid_t tool, int control, int child_signals, Board& board) {
  pollfd events[] = {{.fd = control, .events = 0, .revents = 0},
                     {.fd = child_signals, .events = POLLIN, .revents = 0}};
  for (;;) {
    int status = 0;
    for (pid_t ended; (ended = ::waitpid(-1, &status, WNOHANG)) > 0;) {
      if (ended != tool) continue;
      board.tool_status = status;
      board.tool_ended = true;
      end_others();
      // If nobody listens any more, nobody is kept waiting either.
      [[maybe_unused]] const auto told = send_message(control, ControlMessage::ended);
      return;
    }
    ::ppoll(events, 2, nullptr, nullptr);
    if (events[0].revents != 0) return;  // the supervisor is gone
    signalfd_siginfo info{};
    if (events[1].revents != 0) static_cast<void>(!::read(child_signals, &info, sizeof(info)));
  }
}

// Until the supervisor ends the cell. The end of init takes its namespaces down, which keeps the
// processors busy just when the answer is made.
void wait_for_end(int control) {
  pollfd gone{.fd = control, .events = 0, .revents = 0};
  while (::ppoll(&gone, 1, nullptr, nullptr) < 0 && errno == EINTR)
    ;
}

[[noreturn]] void start_and_reap(Start& start, Board& board) {
  ::umask(022);
  sigset_t child;
  ::sigemptyset(&child);
  ::sigaddset(&child, SIGCHLD);
  Fd child_signals(::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
  Fd null(start.stdin_read ? -1 : ::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int stdin_fd = start.stdin_read ? start.stdin_read.get() : null.get();

  if (start.parked && (!send_message(start.control.get(), ControlMessage::parked) ||
                       !await(start.control.get(), ControlMessage::go)))
    ::_exit(1);

  volatile StartErrors errors;
  board.run_ns =
      monotonic_ns();  // before, so that no answer says that nothing ran when something may have
  const pid_t tool = child_signals && stdin_fd >= 0 ? ::vfork() : -1;
  if (tool == 0) exec_tool(start, stdin_fd, &errors);
  if (tool < 0) errors.failed = errno;
  if (errors.failed != 0) {
    board.report({"vfork", "the tool's process", errors.failed});
    ::_exit(1);
  }
  if (errors.refused != 0) {
    board.exec_errno = errors.refused;
    ::_exit(1);
  }
  for (Fd* given : {&start.stdin_read, &start.stdout_write, &start.stderr_write, &start.connection,
                    &start.image, &null})
    given->reset();
  // Who gave the order to a parked cell has started its clock.
  if (start.parked || send_message(start.control.get(), ControlMessage::started)) {
    reap_until(tool, start.control.get(), child_signals.get(), board);
    if (start.waits_for_end) wait_for_end(start.control.get());
  }
  ::_exit(0);
}

}  // namespace

void run_init(Plan& plan, Board& board) {
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  // /proc/1/cmdline and /proc/1/environ show what is there.
  hide_text(plan.memory, kInitName, sizeof(kInitName));
  ::prctl(PR_SET_NAME, kInitName);

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
  Start start{.order = plan.order,
              .parked = plan.parked,
              .waits_for_end = !plan.watch_processes,
              .ignored_signals = plan.ignored_signals,
              .stdin_read = std::move(plan.stdin_read),
              .stdout_write = std::move(plan.stdout_write),
              .stderr_write = std::move(plan.stderr_write),
              .connection = std::move(plan.connection),
              .image = std::move(plan.image),
              .control = std::move(plan.control)};
  if (const auto dropped = drop_heap(plan.memory); !dropped) {
    board.report(dropped.error());
    ::_exit(1);
  }
  start_and_reap(start, board);
}

}  // namespace sallyport
