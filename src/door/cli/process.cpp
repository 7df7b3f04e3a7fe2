#include "door/cli/process.h"

#include <fcntl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "base/text.h"

namespace sallyport {

int exit_code_of(const Outcome& outcome) {
  switch (outcome.status) {
    case Status::blocked:
      return kCouldNotStart;
    case Status::pending:
      return kPending;
    case Status::killed:
      if (outcome.reason == Reason::timeout) return kTimeout;
      return outcome.reason == Reason::cancelled ? kCancelled : kKilled;
    case Status::success:
      return 0;
    case Status::error:
      // An error of ours after a success of the command's: its changes could not be copied back.
      return outcome.exit_code.value_or(0) != 0 ? *outcome.exit_code : 1;
  }
  return kCouldNotStart;
}

void say(const std::string& text) {
  std::fprintf(stderr, "sallyport: %s\n", escape_for_terminal(text).c_str());
}

Fd catch_signals() {
  sigset_t ends;
  ::sigemptyset(&ends);
  for (int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT})
    ::sigaddset(&ends, number);
  ::sigprocmask(SIG_BLOCK, &ends, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);  // copying results out may meet a file size limit of the caller's
  return Fd(::signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK));
}

void release_signals(Fd caught) {
  signalfd_siginfo info{};
  while (::read(caught.get(), &info, sizeof(info)) > 0) {
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

Result<void> open_missing_streams() {
  struct {
    int fd;
    const char* name;
  } constexpr kStreams[] = {
      {STDIN_FILENO, "input"}, {STDOUT_FILENO, "output"}, {STDERR_FILENO, "error"}};
  std::string closed;
  for (const auto& stream : kStreams) {
    if (::fcntl(stream.fd, F_GETFD) >= 0) continue;
    if (::open("/dev/null", O_RDWR) != stream.fd)
      return fail(Reason::internal, "/dev/null cannot be opened");
    closed.append(closed.empty() ? "" : " and ").append(stream.name);
  }
  if (closed.empty()) return {};
  return fail(Reason::argument, "standard " + closed + " is closed",
              "redirect it to or from /dev/null instead");
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t size = ::write(fd, text.data(), text.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(size));
  }
  return true;
}

void print_error(const Error& error) {
  say(error.message);
  if (!error.hint.empty()) say("hint: " + error.hint);
}

int report(const Error& error) {
  print_error(error);
  return error.reason == Reason::argument ? kWrongUsage : kCouldNotStart;
}

}  // namespace sallyport
