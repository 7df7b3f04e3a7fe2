#include "serve/call_lanes.h"

#include <algorithm>
#include <utility>

namespace sallyport {
namespace {

using Clock = std::chrono::steady_clock;

// A runner that has taken nothing for so long waits for a slow disk or a slow function.
constexpr std::chrono::milliseconds kHeldUp{5};

}  // namespace

// One runner takes all that comes while it works: with two, calls would go in groups of half the
// size, and wait for the disk twice as often.
bool CallLanes::needs_runner(const Lane& lane) const {
  return lane.runners == 0 ||
         (lane.runners < limits_.runners && Clock::now() - lane.stepped > kHeldUp);
}

bool CallLanes::push(const std::string& tenant, std::size_t bytes, Call call) {
  const std::lock_guard lock(mutex_);
  Lane& lane = lanes_[tenant];
  if (lane.waiting.size() >= limits_.calls || lane.bytes + bytes > limits_.bytes) return false;
  if (needs_runner(lane)) {
    // With another runner at work, nothing is lost if there is no place for this one.
    if (start_runner(tenant))
      ++lane.runners;
    else if (lane.runners == 0)
      return lanes_.erase(tenant), false;
    lane.stepped = Clock::now();
  }
  lane.waiting.push_back({bytes, std::move(call)});
  lane.bytes += bytes;
  return true;
}

bool CallLanes::start_runner(const std::string& tenant) {
  return queue_.push(tenant, 0, [this, tenant] { serve(tenant); });
}

std::vector<CallLanes::Call> CallLanes::take(Lane& lane) {
  const std::size_t count = std::min(lane.waiting.size(), limits_.together);
  const auto end = lane.waiting.begin() + static_cast<std::ptrdiff_t>(count);
  std::vector<Call> calls;
  calls.reserve(count);
  for (auto each = lane.waiting.begin(); each != end; ++each) {
    lane.bytes -= each->bytes;
    calls.push_back(std::move(each->call));
  }
  lane.waiting.erase(lane.waiting.begin(), end);
  lane.stepped = Clock::now();
  return calls;
}

void CallLanes::serve(const std::string& tenant) {
  std::vector<Call> ran;
  std::unique_lock lock(mutex_);
  Lane& lane = lanes_[tenant];  // stays where it is while it has a runner
  while (!lane.waiting.empty() || !ran.empty()) {
    // Other tenants have their turn first; what has run is ended before.
    const bool gives_way = !ran.empty() && queue_.waiting() > 0;
    std::vector<Call> next;
    if (!gives_way) next = take(lane);
    lock.unlock();
    step_(ran, next);
    ran = std::move(next);
    lock.lock();
    if (gives_way && !lane.waiting.empty() && start_runner(tenant)) return;
  }
  if (--lane.runners == 0) lanes_.erase(tenant);
}

std::size_t CallLanes::waiting() const {
  const std::lock_guard lock(mutex_);
  std::size_t count = 0;
  for (const auto& [tenant, lane] : lanes_)
    count += lane.waiting.size();
  return count;
}

}  // namespace sallyport
