// A program that runs while a test looks at it from outside.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <sstream>
#include <thread>

#include "base/fd.h"
#include "support/cell_runner.h"

namespace sallyport::test {

// Far more than anything here takes, also on a loaded machine.
inline constexpr std::chrono::seconds kPatience{60};

// Waits until the condition holds; false when it does not come to hold.
template <class Condition>
bool eventually(Condition holds, std::chrono::milliseconds patience = kPatience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

// A word that no other process of this machine has on its command line.
inline std::string unique_word() {
  static int count = 0;
  return "marker-" + std::to_string(::getpid()) + "-" + std::to_string(++count);
}

// Every live process of this machine that has `word` on its command line.
inline std::vector<pid_t> processes_with(const std::string& word) {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (read_file(entry.path() / "cmdline").find(word) != std::string::npos)
      found.push_back(std::stoi(name));
  }
  return found;
}

// The processes below `pid`, as the host numbers them.
inline std::vector<pid_t> descendants_of(pid_t pid) {
  const std::string number = std::to_string(pid);
  std::istringstream children(read_file("/proc/" + number + "/task/" + number + "/children"));
  std::vector<pid_t> all;
  for (pid_t child = 0; children >> child;) {
    all.push_back(child);
    std::ranges::copy(descendants_of(child), std::back_inserter(all));
  }
  return all;
}

// The line "FIELD:\t…" of /proc/PID/status, without the field's name.
inline std::string status_of(pid_t pid, const std::string& field) {
  std::istringstream lines(read_file("/proc/" + std::to_string(pid) + "/status"));
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(field + ":\t")) return line.substr(field.size() + 2);
  return {};
}

class LiveProcess {
 public:
  // In a session of its own. A `terminal` becomes its controlling one and its stdin, stdout and
  // stderr; otherwise what it writes to both can be read here, and its stdin is empty.
  explicit LiveProcess(std::vector<std::string> argv, As as = As::root, int terminal = -1) {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    output_ = Fd(ends[0]);
    const Fd theirs(ends[1]);
    if (as == As::user) {
      const std::string uid = std::to_string(kUserUid), gid = std::to_string(kUserGid);
      const std::vector<std::string> become = {"setpriv", "--reuid",        uid, "--regid",
                                               gid,       "--clear-groups", "--"};
      argv.insert(argv.begin(), become.begin(), become.end());
    }
    std::vector<char*> words;
    for (std::string& word : argv)
      words.push_back(word.data());
    words.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::setsid();
      const Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
      if (terminal >= 0 && ::ioctl(terminal, TIOCSCTTY, 0) != 0) ::_exit(99);
      ::dup2(terminal >= 0 ? terminal : null.get(), 0);
      ::dup2(terminal >= 0 ? terminal : theirs.get(), 1);
      ::dup2(terminal >= 0 ? terminal : theirs.get(), 2);
      ::execvp(words[0], words.data());
      ::_exit(98);
    }
  }
  ~LiveProcess() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  LiveProcess(const LiveProcess&) = delete;
  LiveProcess& operator=(const LiveProcess&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] const std::string& said() const { return said_; }

  // Waits until it has written `text`.
  testing::AssertionResult says(const std::string& text) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (said_.find(text) == std::string::npos) {
      pollfd readable{.fd = output_.get(), .events = POLLIN, .revents = 0};
      char buffer[4096];
      ssize_t size = -1;
      if (std::chrono::steady_clock::now() < deadline && ::poll(&readable, 1, 1000) >= 0)
        size = readable.revents == 0 ? -2 : ::read(output_.get(), buffer, sizeof(buffer));
      if (size == -2) continue;
      if (size <= 0)
        return testing::AssertionFailure() << "it never said \"" << text << "\": " << said_;
      said_.append(buffer, static_cast<std::size_t>(size));
    }
    return testing::AssertionSuccess();
  }

  [[nodiscard]] bool alive() const {
    siginfo_t info{};
    return ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == 0;
  }

  void signal(int number) const { EXPECT_EQ(::kill(pid_, number), 0); }

  // Its exit code, 128 + N when ended by signal N; -1 when it does not end.
  int wait() {
    if (!eventually([&] { return !alive(); })) return -1;
    int status = 0;
    EXPECT_EQ(::waitpid(pid_, &status, 0), pid_);
    pid_ = -1;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }

 private:
  pid_t pid_ = -1;
  Fd output_;
  std::string said_;
};

// `sallyport run ARGS`, left running.
inline LiveProcess start_cell(As as, const std::vector<std::string>& args, int terminal = -1) {
  std::vector<std::string> argv = {sallyport_path(), "run"};
  argv.insert(argv.end(), args.begin(), args.end());
  return LiveProcess(std::move(argv), as, terminal);
}

}  // namespace sallyport::test
