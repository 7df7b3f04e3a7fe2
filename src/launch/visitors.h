// The clients that have shown files to the launcher and wait for the claim of their call.
// Book-keeping only: it starts no process and waits for nothing, so that it can be tested by its
// answers. Each of them has a process of its own, which reads what the client sends: whatever that
// is, it is closed there, and the launcher never waits for it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <vector>

#include "base/fd.h"
#include "launch/packet.h"

namespace sallyport {

class Visitors {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kMost = 64, kMostOfOne = 8;
  static constexpr std::chrono::seconds kTime{60};

  struct Waiting {
    pid_t pid;
    Fd socket;  // to its process; none: it is to end, and has not yet
    uid_t uid;
    PacketId ticket;
    Clock::time_point until;
  };

  // One user has no more than a few places, so that nobody takes them all. A place is free again
  // when its process has ended, and not before.
  [[nodiscard]] bool has_room(uid_t uid) const;
  void add(Waiting waiting) { all_.push_back(std::move(waiting)); }

  [[nodiscard]] bool has(int socket) const;
  // The one with this ticket, which is used once. It is forgotten here.
  [[nodiscard]] std::optional<Waiting> take(const PacketId& ticket);
  // Its process has hung up.
  void gone(int socket);
  // The process has ended; false: it was none of these.
  bool ended(pid_t pid);
  // Those whose time is over, or all: the processes to kill.
  [[nodiscard]] std::vector<pid_t> expired(Clock::time_point now);
  [[nodiscard]] std::optional<Clock::time_point> next_end() const;
  // In a child: closes what is ours.
  void forget() { all_.clear(); }

 private:
  std::vector<Waiting> all_;
};

}  // namespace sallyport
