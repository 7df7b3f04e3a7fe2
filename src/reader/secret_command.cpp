#include "reader/secret_command.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>
#include <cstring>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/parse.h"
#include "credential/source.h"

namespace sallyport {
namespace {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kFirstPause{1}, kLongestPause{20};
constexpr std::size_t kMostComplaint = 4096;
constexpr int kMostPieces = 64;  // of one look at a pipe: more than it holds

// What comes out of one of its pipes. Past the bound it is dropped, and known to be too much.
struct Output {
  Fd end;
  std::size_t most;
  std::string text = {};

  // Takes what is there, but not for ever.
  void drain() {
    char piece[4096];
    ssize_t size = 0;
    for (int i = 0; i < kMostPieces && (size = ::read(end.get(), piece, sizeof(piece))) > 0; ++i)
      text.append(piece, std::min(static_cast<std::size_t>(size), most + 1 - text.size()));
    ::explicit_bzero(piece, sizeof(piece));
  }
  [[nodiscard]] bool too_much() const { return text.size() > most; }
};

// The group goes while its leader is still a zombie: until then its number is nobody else's.
int end_group(pid_t pid) {
  ::kill(-pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

struct Started {
  Started() = default;
  // Nobody waits for it any more.
  ~Started() {
    if (pid > 0) end_group(pid);
    wipe(out.text);
  }
  Started(const Started&) = delete;
  Started& operator=(const Started&) = delete;

  pid_t pid = -1;
  Output out{.end = {}, .most = kLargestSecret + 2}, err{.end = {}, .most = kMostComplaint};
};

std::vector<std::string> split(std::string_view command) {
  std::vector<std::string> words;
  while (!command.empty())
    if (const std::string_view word = take(command, ' '); !word.empty()) words.emplace_back(word);
  return words;
}

// Signals as a program expects them, whatever this one ignores.
void set_attributes(posix_spawnattr_t& attributes) {
  sigset_t none, all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

// 0, or the errno.
int start(const std::string& command, Started& started) {
  int out[2], err[2];
  if (::pipe2(out, O_CLOEXEC | O_NONBLOCK) != 0) return errno;
  started.out.end = Fd(out[0]);
  const Fd out_theirs(out[1]);
  if (::pipe2(err, O_CLOEXEC | O_NONBLOCK) != 0) return errno;
  started.err.end = Fd(err[0]);
  const Fd err_theirs(err[1]);
  // Programs do not expect that they cannot write.
  for (const Fd* end : {&out_theirs, &err_theirs})
    if (::fcntl(end->get(), F_SETFL, 0) != 0) return errno;

  std::vector<std::string> words = split(command);
  if (words.empty()) return ENOENT;
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, out_theirs.get(), 1);
  ::posix_spawn_file_actions_adddup2(&actions, err_theirs.get(), 2);
  ::posix_spawn_file_actions_addchdir_np(&actions, "/");
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  set_attributes(attributes);
  const int failed =
      ::posix_spawn(&started.pid, arguments[0], &actions, &attributes, arguments.data(), environ);
  if (failed != 0) started.pid = -1;
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  return failed;
}

bool has_ended(pid_t pid) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
         info.si_pid == pid;
}

// What the command says of its failure, unless it says the secret there.
std::string complaint(const Started& started) {
  std::string_view value = started.out.text;
  while (!value.empty() && (value.back() == '\n' || value.back() == '\r'))
    value.remove_suffix(1);
  const std::string& text = started.err.text;
  if (!value.empty() && text.contains(value)) return {};
  const std::string words = plain_words(text);
  return words.empty() ? "" : ": " + words;
}

}  // namespace

Task<Reading> run_secret_command(asio::io_context& io, std::string command, milliseconds patience) {
  Started started;
  if (const int failed = start(command, started); failed != 0)
    co_return no_secret(std::string("its command cannot be run: ") + std::strerror(failed), false);
  const auto deadline = Clock::now() + patience;
  asio::steady_timer timer(io);
  bool in_time = true;
  for (auto pause = kFirstPause; !has_ended(started.pid);
       pause = std::min(pause * 2, kLongestPause)) {
    started.out.drain();
    started.err.drain();
    in_time = Clock::now() < deadline;
    if (!in_time || started.out.too_much()) break;
    timer.expires_after(pause);
    co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
  }
  const int status = end_group(std::exchange(started.pid, -1));
  started.out.drain();
  started.err.drain();

  Reading reading;
  if (!in_time)
    reading = no_secret("its command did not end within " + to_text(Duration(patience)), false);
  else if (started.out.too_much())
    reading = no_secret("its command prints more than " + to_text(ByteSize{kLargestSecret}), false);
  else if (WIFSIGNALED(status))
    reading = no_secret(
        "its command was ended by signal " + std::to_string(WTERMSIG(status)) + complaint(started),
        false);
  else if (WEXITSTATUS(status) != 0)
    reading = no_secret("its command failed with exit code " + std::to_string(WEXITSTATUS(status)) +
                            complaint(started),
                        false);
  else
    reading = check_secret(std::move(started.out.text), "what its command prints");
  co_return reading;
}

}  // namespace sallyport
