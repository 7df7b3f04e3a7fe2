// Processes that wait for an order, and copies of them, for tests.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

#include "base/fd.h"
#include "warm/image_format.h"
#include "warm/programs.h"

namespace sallyport::test {

struct ChildOptions {
  int image = -1, program = -1;               // of a copy
  std::vector<std::string> environment = {};  // nothing else
  bool first = false;  // in a namespace of its own, where all have one number, as in cells
  int output = -1;     // its standard output; otherwise that of the test
};

// A process with a socket as its descriptor SALLYPORT_ORDER_FD; killed at the end.
class Child {
 public:
  explicit Child(std::vector<std::string> command, ChildOptions options = {}) {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    socket_ = Fd(ends[0]);
    const Fd theirs(::fcntl(ends[1], F_DUPFD_CLOEXEC, 10));
    ::close(ends[1]);
    const Fd image_copy(options.image < 0 ? -1 : ::fcntl(options.image, F_DUPFD_CLOEXEC, 10));
    const Fd program_copy(options.program < 0 ? -1 : ::fcntl(options.program, F_DUPFD_CLOEXEC, 10));
    std::vector<char*> argv;
    for (std::string& word : command)
      argv.push_back(word.data());
    argv.push_back(nullptr);
    std::vector<char*> variables;
    for (std::string& variable : options.environment)
      variables.push_back(variable.data());
    variables.push_back(nullptr);
    pid_ = static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD | (options.first ? CLONE_NEWPID : 0),
                                        nullptr, nullptr, nullptr, 0));
    if (pid_ == 0) {
      if (options.output >= 0) ::dup2(options.output, 1);
      ::dup2(theirs.get(), SALLYPORT_ORDER_FD);
      if (options.image >= 0) ::dup2(image_copy.get(), SALLYPORT_IMAGE_FD);
      ::close_range(options.image >= 0 ? 5 : 4, ~0U, CLOSE_RANGE_CLOEXEC);
      if (options.program >= 0)
        ::fexecve(program_copy.get(), argv.data(), variables.data());
      else
        ::execve(argv[0], argv.data(), variables.data());
      ::_exit(127);
    }
  }
  ~Child() { end(); }

  [[nodiscard]] pid_t pid() const { return pid_; }
  void end() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  void say(std::string_view text) {
    EXPECT_EQ(::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
  // To one that may have ended.
  void offer(std::string_view text) {
    (void)::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL);
  }
  std::string hear() {
    pollfd event{.fd = socket_.get(), .events = POLLIN, .revents = 0};
    if (::poll(&event, 1, 30'000) != 1) return "nothing";
    char buffer[4096];
    const ssize_t size = ::read(socket_.get(), buffer, sizeof(buffer));
    return {buffer, static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
  }

 private:
  Fd socket_;
  pid_t pid_ = -1;
};

inline Fd program_file() {
  Fd file(::memfd_create("restore", 0));
  EXPECT_EQ(::write(file.get(), restore_program().data(), restore_program().size()),
            static_cast<ssize_t>(restore_program().size()));
  // A file that is open for writing cannot be executed.
  return Fd(::open(("/proc/self/fd/" + std::to_string(file.get())).c_str(), O_RDONLY));
}

}  // namespace sallyport::test
