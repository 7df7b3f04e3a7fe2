#include "launch/cell_pool.h"

#include <fcntl.h>

#include <algorithm>
#include <iterator>
#include <ranges>
#include <utility>

namespace sallyport {
namespace {

// More kinds of calls than any policy has at a time. A front that makes up more only loses its own.
constexpr std::size_t kMostClasses = 64;
constexpr std::size_t kMostWaiting = 1024;
// So many cells of a class are ready to the last page; those behind them doze until they move up.
constexpr std::ptrdiff_t kMostAwake = 32;
// After a cell could not be made, none of its class is made ahead of need for a while.
constexpr auto kBackOff = std::chrono::seconds(10);

template <class Cells>
auto find_cell(Cells& cells, CellPool::Handle handle) {
  return std::ranges::find_if(cells, [&](const auto& cell) { return cell.handle == handle; });
}

}  // namespace

std::optional<CellPool::WaitingClaim> CellPool::add(WaitingClaim claim, Clock::time_point now) {
  const PacketId id = claim.claim.id;
  if (!classes_.contains(id)) {
    if (classes_.size() >= kMostClasses && !forget_oldest_class()) return claim;
    Class& made = classes_[id];
    // The claim goes on with all that came with it.
    made.bytes = Fd(::fcntl(claim.claim.fds[first_named(claim.claim)].get(), F_DUPFD_CLOEXEC, 3));
    made.want = std::max(settings_.min, 1U);
    made.not_before = now;
  }
  Class& kind = classes_[id];
  kind.used = now;
  const std::size_t spare = kind.parked.size() - std::min(kind.parked.size(), kind.waiting.size());
  if (spare > 0) {
    ++status_.hits;
  } else {
    ++status_.misses;
    kind.want = std::min(std::max(kind.want * 2, 1U), settings_.max);
  }
  // The oldest would have been answered last.
  if (kind.waiting.size() >= kMostWaiting) kind.waiting.front().until = now;
  kind.waiting.push_back(std::move(claim));
  return std::nullopt;
}

void CellPool::expect(const PacketId& id, Fd bytes, Clock::time_point now) {
  if (classes_.size() >= kMostClasses || classes_.contains(id)) return;
  Class& made = classes_[id];
  made.bytes = std::move(bytes);
  made.want = settings_.min;
  made.used = made.not_before = now;
}

// Not one that somebody waits for.
bool CellPool::forget_oldest_class() {
  auto oldest = classes_.end();
  for (auto at = classes_.begin(); at != classes_.end(); ++at)
    if (at->second.building.empty() && at->second.waiting.empty() &&
        (oldest == classes_.end() || at->second.used < oldest->second.used))
      oldest = at;
  if (oldest == classes_.end()) return false;
  const auto handles = retire(oldest->first);
  dropped_.insert(dropped_.end(), handles.begin(), handles.end());
  classes_.erase(oldest);
  return true;
}

std::optional<CellPool::HandOver> CellPool::next_hand_over(Clock::time_point) {
  Class* first = nullptr;
  for (auto& [id, kind] : classes_)
    if (!kind.waiting.empty() && !kind.parked.empty() &&
        (first == nullptr || kind.waiting.front().until < first->waiting.front().until))
      first = &kind;
  if (first == nullptr) return std::nullopt;
  HandOver pair{.to = first->parked.front().handle, .claim = std::move(first->waiting.front())};
  release(first->parked.front());
  first->parked.pop_front();
  first->waiting.pop_front();
  return pair;
}

std::size_t CellPool::count_building() const {
  std::size_t count = 0;
  for (const auto& [id, kind] : classes_)
    count += kind.building.size();
  return count;
}

std::optional<CellPool::Build> CellPool::next_build(Clock::time_point now, bool busy) {
  const std::size_t under_way = count_building();
  if (under_way >= builders_.wanted) return std::nullopt;
  const std::pair<const PacketId, Class>* next = nullptr;
  bool spare = false;
  for (const auto& entry : classes_) {
    const Class& kind = entry.second;
    if (kind.waiting.size() <= kind.building.size()) continue;
    if (next == nullptr || kind.waiting.front().until < next->second.waiting.front().until)
      next = &entry;
  }
  if (next == nullptr && under_way < builders_.ahead && has_room())
    for (const auto& entry : classes_) {
      const Class& kind = entry.second;
      if (kind.held || kind.not_before > now ||
          kind.parked.size() + kind.building.size() >= kind.want)
        continue;
      if (busy && has_time(kind)) continue;
      if (next != nullptr && kind.used <= next->second.used) continue;
      next = &entry;
      spare = has_time(kind);
    }
  if (next == nullptr) return std::nullopt;
  const Class& kind = next->second;
  return Build{.id = next->first,
               .class_bytes = kind.bytes.get(),
               .spare = spare,
               .dozes = std::ssize(kind.parked) + std::ssize(kind.building) >= kMostAwake};
}

void CellPool::building(const PacketId& id, Handle handle, Clock::time_point now) {
  classes_[id].building.push_back({.handle = handle, .since = now});
}

void CellPool::not_building(const PacketId& id, Clock::time_point now) {
  const auto at = classes_.find(id);
  if (at != classes_.end()) at->second.not_before = now + kBackOff;
}

void CellPool::ready(Handle handle, std::uint64_t memory_bytes, bool dozes, Clock::time_point now) {
  for (auto& [id, kind] : classes_) {
    if (const auto woken = find_cell(kind.parked, handle); woken != kind.parked.end()) {
      memory_ += memory_bytes - woken->memory;
      woken->memory = memory_bytes;
      woken->state = Cell::awake;
      return;
    }
    const auto cell = find_cell(kind.building, handle);
    if (cell == kind.building.end()) continue;
    ++status_.built;
    status_.build_us += static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(now - cell->since).count());
    kind.parked.push_back({.handle = handle,
                           .since = now,
                           .memory = memory_bytes,
                           .state = dozes ? Cell::dozing : Cell::awake});
    kind.building.erase(cell);
    memory_ += memory_bytes;
    return;
  }
}

// Cells are handed over from the front, so one that is being woken is still among the first.
std::size_t CellPool::count_waking() const {
  std::size_t count = 0;
  for (const auto& [id, kind] : classes_)
    count += static_cast<std::size_t>(
        std::ranges::count(kind.parked | std::views::take(kMostAwake), Cell::waking, &Cell::state));
  return count;
}

// As many at a time as are made ahead of need. While calls run, not before half of those that are
// to be awake are used up.
std::optional<CellPool::Handle> CellPool::next_wake(bool busy) {
  if (!has_room() || count_waking() >= builders_.ahead) return std::nullopt;
  const auto reach = busy ? kMostAwake / 2 : kMostAwake;
  for (auto& [id, kind] : classes_)
    for (Cell& cell : kind.parked | std::views::take(reach))
      if (cell.state == Cell::dozing) {
        cell.state = Cell::waking;
        return cell.handle;
      }
  return std::nullopt;
}

void CellPool::gone(Handle handle, Clock::time_point now) {
  for (auto& [id, kind] : classes_) {
    if (const auto cell = find_cell(kind.building, handle); cell != kind.building.end()) {
      kind.building.erase(cell);
    } else if (const auto waiting = find_cell(kind.parked, handle); waiting != kind.parked.end()) {
      release(*waiting);
      kind.parked.erase(waiting);
    } else {
      continue;
    }
    ++status_.failed;
    kind.not_before = now + kBackOff;
    return;
  }
}

std::vector<CellPool::Handle> CellPool::surplus(Clock::time_point now) {
  std::vector<Handle> handles = std::exchange(dropped_, {});
  for (auto& [id, kind] : classes_) {
    if (now - kind.used >= settings_.idle && kind.waiting.empty()) kind.want = settings_.min;
    while (kind.parked.size() > std::max<std::size_t>(kind.want, kind.waiting.size())) {
      handles.push_back(kind.parked.front().handle);
      release(kind.parked.front());
      kind.parked.pop_front();
      ++status_.retired;
    }
  }
  return handles;
}

std::vector<CellPool::Handle> CellPool::retire(const PacketId& id) {
  std::vector<Handle> handles;
  const auto at = classes_.find(id);
  if (at == classes_.end()) return handles;
  for (const Cell& cell : at->second.parked) {
    handles.push_back(cell.handle);
    release(cell);
    ++status_.retired;
  }
  at->second.parked.clear();
  return handles;
}

void CellPool::retire(Handle handle) {
  for (auto& [id, kind] : classes_)
    if (const auto cell = find_cell(kind.parked, handle); cell != kind.parked.end()) {
      release(*cell);
      kind.parked.erase(cell);
      ++status_.retired;
      return;
    }
}

void CellPool::hold(const PacketId& id, bool held) {
  if (const auto at = classes_.find(id); at != classes_.end()) at->second.held = held;
}

std::vector<CellPool::WaitingClaim> CellPool::expired(Clock::time_point now) {
  std::vector<WaitingClaim> claims;
  for (auto& [id, kind] : classes_)
    while (!kind.waiting.empty() && kind.waiting.front().until <= now) {
      claims.push_back(std::move(kind.waiting.front()));
      kind.waiting.pop_front();
      ++status_.expired;
    }
  return claims;
}

int CellPool::class_bytes(const PacketId& id) const {
  const auto at = classes_.find(id);
  return at == classes_.end() ? -1 : at->second.bytes.get();
}

void CellPool::forget_claims() {
  for (auto& [id, kind] : classes_)
    kind.waiting.clear();
}

std::optional<CellPool::Clock::time_point> CellPool::next_change(bool busy) const {
  std::optional<Clock::time_point> next;
  const auto consider = [&](Clock::time_point time) {
    if (!next || time < *next) next = time;
  };
  const bool idle = count_building() == 0;
  for (const auto& [id, kind] : classes_) {
    if (!kind.waiting.empty()) consider(kind.waiting.front().until);
    if (kind.parked.size() > settings_.min) consider(kind.used + settings_.idle);
    if (idle && !kind.held && kind.parked.size() < kind.want && has_room() &&
        !(busy && has_time(kind)))
      consider(kind.not_before);
  }
  return next;
}

PoolStatus CellPool::status() const {
  PoolStatus status = status_;
  for (const auto& [id, kind] : classes_) {
    status.parked += kind.parked.size();
    status.building += kind.building.size();
    status.waiting += kind.waiting.size();
  }
  status.classes = classes_.size();
  status.memory = memory_;
  return status;
}

}  // namespace sallyport
