#include "serve/call_lanes.h"

#include <algorithm>
#include <utility>

namespace sallyport {

bool CallLanes::push(const std::string& tenant, std::size_t bytes, Call call) {
  const std::lock_guard lock(mutex_);
  Lane& lane = lanes_[tenant];
  if (lane.waiting.size() >= limits_.calls || lane.bytes + bytes > limits_.bytes) return false;
  if (lane.runners < limits_.runners) {
    // With another runner at work, nothing is lost if there is no place for this one.
    if (start_runner(tenant))
      ++lane.runners;
    else if (lane.runners == 0)
      return lanes_.erase(tenant), false;
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
  return calls;
}

void CallLanes::serve(const std::string& tenant) {
  std::unique_lock lock(mutex_);
  Lane& lane = lanes_[tenant];  // stays where it is while it has a runner
  while (!lane.waiting.empty()) {
    auto calls = take(lane);
    lock.unlock();
    run_(std::move(calls));
    lock.lock();
    // Other tenants have their turn first.
    if (!lane.waiting.empty() && start_runner(tenant)) return;
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
