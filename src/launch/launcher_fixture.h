// A launcher in a process of its own, for tests, and a front that speaks to it by hand.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>

#include "kernel/memory_file.h"
#include "launch/launcher_process.h"
#include "launch/outcome_packet.h"

namespace sallyport::test {

class LauncherUnderTest {
 public:
  explicit LauncherUnderTest(LaunchCeiling ceiling, uid_t front = ::geteuid()) {
    char name[] = "/tmp/sallyport-test.XXXXXX";
    EXPECT_NE(::mkdtemp(name), nullptr);
    EXPECT_EQ(::chmod(name, 0755), 0);
    directory_ = name;
    listener_ = listen_at(path());
    clients_ = listen_at(clients_path());
    start(std::move(ceiling), front);
  }
  ~LauncherUnderTest() {
    signal(SIGKILL);
    (void)wait();
    ::unlink(path().c_str());
    ::unlink(clients_path().c_str());
    ::rmdir(directory_.c_str());
  }
  LauncherUnderTest(const LauncherUnderTest&) = delete;
  LauncherUnderTest& operator=(const LauncherUnderTest&) = delete;

  // On the same socket, as after a reload or a death.
  void start(LaunchCeiling ceiling, uid_t front = ::geteuid()) {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    serving_ = Fd(ends[0]);
    Fd theirs(ends[1]);
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    serving_.reset();
    std::vector<Fd> clients;
    clients.push_back(std::move(clients_));
    ::_exit(run_launcher({.listener = std::move(listener_),
                          .serving = std::move(theirs),
                          .front = front,
                          .ceiling = std::move(ceiling),
                          .clients = std::move(clients)}));
  }

  [[nodiscard]] std::string path() const { return directory_ + "/launcher"; }
  // Where clients show files of their own.
  [[nodiscard]] std::string clients_path() const { return directory_ + "/files"; }
  [[nodiscard]] pid_t pid() const { return pid_; }
  void signal(int number) const {
    if (pid_ > 0) ::kill(pid_, number);
  }
  [[nodiscard]] bool alive() const {
    siginfo_t info{};
    return pid_ > 0 &&
           ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == 0;
  }
  // Its exit code; 128 + N when ended by signal N.
  int wait() {
    int status = 0;
    if (pid_ <= 0 || ::waitpid(pid_, &status, 0) != pid_) return -1;
    pid_ = -1;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }
  // Waits until it accepts no more.
  [[nodiscard]] bool has_stopped_accepting() const {
    pollfd end{.fd = serving_.get(), .events = POLLIN, .revents = 0};
    return ::poll(&end, 1, 60'000) == 1;
  }

  [[nodiscard]] Fd connect() const { return connect_to(path()); }
  [[nodiscard]] Fd connect_as_client() const { return connect_to(clients_path()); }

 private:
  static Fd connect_to(const std::string& place) {
    Fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    const sockaddr_un address = address_of(place);
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)),
              0);
    return socket;
  }
  static Fd listen_at(const std::string& place) {
    Fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const sockaddr_un address = address_of(place);
    EXPECT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)),
              0);
    EXPECT_EQ(::chmod(place.c_str(), 0666), 0);
    EXPECT_EQ(::listen(socket.get(), 512), 0);
    return socket;
  }
  static sockaddr_un address_of(const std::string& path) {
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    return address;
  }

  std::string directory_;
  Fd listener_, clients_, serving_;
  pid_t pid_ = -1;
};

// The next packet; none when the launcher hangs up instead.
inline std::optional<Packet> next_packet(const Fd& connection) {
  pollfd readable{.fd = connection.get(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&readable, 1, 60'000), 1) << "it neither answers nor hangs up";
  auto packet = receive_packet(connection.get());
  if (!packet) return std::nullopt;
  return std::move(*packet);
}

// The outcome on a connection, whatever comes before it; none when the launcher hangs up.
inline std::optional<Outcome> outcome_on(const Fd& connection) {
  while (auto packet = next_packet(connection)) {
    if (packet->kind != PacketKind::outcome) continue;
    auto outcome = outcome_in(*packet);
    if (!outcome) return std::nullopt;
    return std::move(*outcome);
  }
  return std::nullopt;
}

// Where the claim was refused, nobody may be there any more to hear it.
inline void send_go(const Fd& connection) {
  (void)send_packet(connection.get(), PacketKind::go, 0, {});
}

// Sends a claim as it is, whatever it asks for, and does not let it run.
inline void ask_only(const Fd& connection, std::string_view bytes, std::uint8_t flags = 0,
                     std::vector<int> more = {}) {
  const auto file = make_memory_file(bytes);
  ASSERT_TRUE(file);
  more.insert(more.begin(), file->get());
  EXPECT_TRUE(send_packet(connection.get(), PacketKind::claim, flags, more));
}

// The same, and lets it run.
inline void send_claim(const Fd& connection, std::string_view bytes, std::uint8_t flags = 0,
                       std::vector<int> more = {}) {
  ask_only(connection, bytes, flags, std::move(more));
  send_go(connection);
}

// A claim that any ceiling of the tests allows.
inline Claim plain_claim() {
  Claim claim{.tenant = "default", .spec = {}};
  claim.spec.call_id = "0123456789abcdef0123456789abcdef";
  claim.spec.command = {"true"};
  return claim;
}

}  // namespace sallyport::test
