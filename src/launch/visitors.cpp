#include "launch/visitors.h"

#include <algorithm>

namespace sallyport {
namespace {

// Takes as long for every wrong ticket as for the next.
bool is_same(const PacketId& a, const PacketId& b) {
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    difference |= static_cast<unsigned>(a[i] ^ b[i]);
  return difference == 0;
}

}  // namespace

bool Visitors::has_room(uid_t uid) const {
  return all_.size() < kMost &&
         std::ranges::count(all_, uid, &Waiting::uid) < static_cast<std::ptrdiff_t>(kMostOfOne);
}

bool Visitors::has(int socket) const {
  return std::ranges::any_of(all_,
                             [&](const Waiting& entry) { return entry.socket.get() == socket; });
}

std::optional<Visitors::Waiting> Visitors::take(const PacketId& ticket) {
  const auto at = std::ranges::find_if(
      all_, [&](const Waiting& entry) { return entry.socket && is_same(entry.ticket, ticket); });
  if (at == all_.end()) return std::nullopt;
  Waiting taken = std::move(*at);
  all_.erase(at);
  return taken;
}

void Visitors::gone(int socket) {
  for (Waiting& entry : all_)
    if (entry.socket.get() == socket) entry.socket.reset();
}

bool Visitors::ended(pid_t pid) {
  return std::erase_if(all_, [&](const Waiting& entry) { return entry.pid == pid; }) != 0;
}

std::vector<pid_t> Visitors::expired(Clock::time_point now) {
  std::vector<pid_t> pids;
  for (Waiting& entry : all_) {
    if (!entry.socket || entry.until > now) continue;
    entry.socket.reset();
    pids.push_back(entry.pid);
  }
  return pids;
}

std::optional<Visitors::Clock::time_point> Visitors::next_end() const {
  std::optional<Clock::time_point> next;
  for (const Waiting& entry : all_)
    if (entry.socket && (!next || entry.until < *next)) next = entry.until;
  return next;
}

}  // namespace sallyport
