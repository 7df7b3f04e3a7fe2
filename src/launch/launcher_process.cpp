#include "launch/launcher_process.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <vector>

#include "kernel/cgroup.h"

namespace sallyport {
namespace {

using Clock = std::chrono::steady_clock;

// A connection sends its claim at once; one that does not is in the way of others.
constexpr auto kClaimTime = std::chrono::seconds(10);
constexpr std::size_t kMostWaiting = 64;

Outcome busy(std::string message) {
  Outcome outcome;
  outcome.status = Status::blocked;
  outcome.reason = Reason::unavailable;
  outcome.message = std::move(message);
  outcome.hint = "try again when other calls have ended";
  return outcome;
}

class LauncherLoop {
 public:
  LauncherLoop(LauncherSettings settings, Fd signals)
      : settings_(std::move(settings)), signals_(std::move(signals)) {}

  void run() {
    while (settings_.listener || !waiting_.empty() || !supervisors_.empty())
      turn();
  }

 private:
  struct Waiting {
    Fd connection;
    Clock::time_point until;
  };

  void turn();
  void handle_signals();
  void accept_some();
  void read_claims(std::span<const pollfd> events);
  void start(const Fd& connection, const Packet& claim);

  LauncherSettings settings_;
  Fd signals_;
  std::vector<Waiting> waiting_;  // the oldest first
  std::vector<pid_t> supervisors_;
};

void LauncherLoop::turn() {
  std::vector<pollfd> events = {{.fd = signals_.get(), .events = POLLIN, .revents = 0},
                                {.fd = settings_.listener.get(), .events = POLLIN, .revents = 0}};
  for (const Waiting& waiting : waiting_)
    events.push_back({.fd = waiting.connection.get(), .events = POLLIN, .revents = 0});
  int patience = -1;
  if (!waiting_.empty()) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(waiting_.front().until - Clock::now());
    patience = static_cast<int>(std::max<std::int64_t>(left.count(), 0));
  }
  if (::poll(events.data(), events.size(), patience) < 0) return;
  if (events[0].revents != 0) handle_signals();
  read_claims(std::span(events).subspan(2));
  std::erase_if(waiting_, [now = Clock::now()](const Waiting& waiting) {
    return !waiting.connection || waiting.until <= now;
  });
  if (events[1].revents != 0) accept_some();
}

void LauncherLoop::handle_signals() {
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof(info)) == sizeof(info)) {
    if (info.ssi_signo != SIGTERM) continue;
    settings_.listener.reset();
    settings_.serving.reset();
  }
  for (pid_t ended; (ended = ::waitpid(-1, nullptr, WNOHANG)) > 0;)
    std::erase(supervisors_, ended);
}

void LauncherLoop::accept_some() {
  // One at a time: whoever keeps connecting does not keep claims from being read.
  if (!settings_.listener) return;
  Fd connection(
      ::accept4(settings_.listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!connection) return;
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (::getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
      peer.uid != settings_.front)
    return;
  if (waiting_.size() >= kMostWaiting) waiting_.erase(waiting_.begin());
  waiting_.push_back({std::move(connection), Clock::now() + kClaimTime});
}

void LauncherLoop::read_claims(std::span<const pollfd> events) {
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (events[i].revents == 0) continue;
    auto packet = receive_packet(waiting_[i].connection.get());
    if (!packet && packet.error().err == EAGAIN) continue;
    // It stays with its time as it was: whoever greets does not stay for longer.
    if (packet && packet->kind == PacketKind::hello &&
        send_packet(waiting_[i].connection.get(), PacketKind::hello, 0, {}))
      continue;
    const Fd connection = std::move(waiting_[i].connection);
    if (packet && packet->kind == PacketKind::claim) start(connection, *packet);
  }
}

void LauncherLoop::start(const Fd& connection, const Packet& claim) {
  if (supervisors_.size() >= settings_.ceiling.cells)
    return send_outcome(connection.get(), busy("as many cells run as the launcher lets run"));
  const pid_t launcher = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) {
    settings_.listener.reset();
    settings_.serving.reset();
    signals_.reset();
    waiting_.clear();  // or their clients would not see them end
    supervise(settings_.ceiling, settings_.front, launcher, connection, claim,
              settings_.egress.get());
  }
  if (child < 0)
    return send_outcome(connection.get(), busy("the launcher cannot start another process"));
  supervisors_.push_back(child);
}

}  // namespace

int run_launcher(LauncherSettings settings) {
  ::prctl(PR_SET_NAME, "sally-launcher");
  sigset_t caught;
  ::sigemptyset(&caught);
  // Supervisors inherit that these are blocked: what ends a call is its connection.
  for (const int number : {SIGTERM, SIGCHLD, SIGINT, SIGHUP, SIGQUIT})
    ::sigaddset(&caught, number);
  ::sigprocmask(SIG_BLOCK, &caught, nullptr);
  for (const int number : {SIGPIPE, SIGXFSZ})
    ::signal(number, SIG_IGN);
  Fd signals(::signalfd(-1, &caught, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals || ::chdir("/") != 0) return 1;
  // What a killed launcher left behind.
  sweep_cgroups();
  LauncherLoop(std::move(settings), std::move(signals)).run();
  return 0;
}

}  // namespace sallyport
