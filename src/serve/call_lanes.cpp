#include "serve/call_lanes.h"

#include <sched.h>

#include <algorithm>
#include <utility>

namespace sallyport {
namespace {

// A leader that is so long at one thing waits for a slow disk or a slow function.
constexpr std::chrono::milliseconds kHeldUp{5};
// How often the watcher finds nothing to do before it has to be woken: waking it costs more than
// looking.
constexpr unsigned kIdleLooks = 100;
// How long a leader without work looks for more of it. To sleep and be woken takes about a tenth.
constexpr std::chrono::microseconds kLinger{100};

}  // namespace

CallLanes::CallLanes(CallQueue& queue, Steps steps, LaneLimits limits)
    : queue_(queue),
      steps_(std::move(steps)),
      limits_(limits),
      watcher_([this](const std::stop_token& stop) { watch(stop); }) {}

void CallLanes::push(std::vector<Arrival>& arrived) {
  const std::lock_guard lock(mutex_);
  std::erase_if(arrived, [this](Arrival& arrival) { return add(arrival); });
  if (!watching_ && !lanes_.empty()) {
    watching_ = true;
    wake_.notify_one();
  }
}

bool CallLanes::add(Arrival& arrival) {
  auto& [tenant, bytes, call] = arrival;
  Lane& lane = lanes_[tenant];
  if (lane.waiting.size() >= limits_.calls || lane.bytes + bytes > limits_.bytes) return false;
  if (lane.leader == 0 && !start_leader(tenant, lane)) {
    if (lane.runners == 0) lanes_.erase(tenant);
    return false;
  }
  lane.waiting.push_back({bytes, std::move(call)});
  lane.bytes += bytes;
  return true;
}

// One runner takes all that comes while it works: with two, calls would go in groups of half the
// size, and wait for the disk twice as often.
bool CallLanes::start_leader(const std::string& tenant, Lane& lane) {
  if (!lead_later(tenant, lane, last_runner_ + 1)) return false;
  ++last_runner_;
  ++lane.runners;
  return true;
}

bool CallLanes::lead_later(const std::string& tenant, Lane& lane, std::uint64_t runner) {
  if (!queue_.push(tenant, 0, [this, tenant, runner] { serve(tenant, runner); })) return false;
  lane.leader = runner;
  lane.since = Clock::time_point::max();
  return true;
}

std::vector<CallLanes::Call> CallLanes::take(Lane& lane) const {
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

void CallLanes::serve(const std::string& tenant, std::uint64_t runner) {
  std::unique_lock lock(mutex_);
  Lane& lane = lanes_[tenant];  // stays where it is while it has a runner
  std::size_t together = 0;     // calls that were last taken
  while (lane.leader == runner && !lane.empty()) {
    lane.since = Clock::now();
    if (!lane.begun.empty()) {
      Call call = std::move(lane.begun.back());
      lane.begun.pop_back();
      lock.unlock();
      steps_.run(call);
      lock.lock();
      lane.ran.push_back(std::move(call));
    } else {
      // Other tenants have their turn first; what has run is ended before.
      const bool gives_way = !lane.ran.empty() && queue_.waiting() > 0;
      const std::vector<Call> next = gives_way ? std::vector<Call>() : take(lane);
      std::vector<Call> ran = std::exchange(lane.ran, {});
      if (!next.empty()) together = next.size();
      lock.unlock();
      steps_.end_and_begin(std::move(ran), next);
      lock.lock();
      lane.begun.insert(lane.begun.begin(), next.rbegin(), next.rend());
      if (gives_way && lane.leader == runner && !lane.empty() && lead_later(tenant, lane, runner))
        return;
    }
    // It was replaced, and the one that replaced it has ended before what this one had in hand.
    if (lane.leader == 0) lane.leader = runner;
    if (together > 1) linger(lane, runner, lock);
  }
  if (lane.leader == runner) lane.leader = 0;
  if (--lane.runners == 0) lanes_.erase(tenant);
}

// Clients that call together read their answers together, and call again. Until then everybody else
// who can run goes first, and nobody waits for this worker. A client that is alone is not waited
// for.
void CallLanes::linger(const Lane& lane, std::uint64_t runner,
                       std::unique_lock<ShortMutex>& lock) const {
  const auto is_idle = [&] {
    return lane.leader == runner && lane.empty() && queue_.waiting() == 0;
  };
  if (!is_idle()) return;
  const Clock::time_point end = Clock::now() + kLinger;
  do {
    lock.unlock();
    ::sched_yield();
    lock.lock();
  } while (is_idle() && Clock::now() < end);
}

// Replaces leaders that are held up, if anything waits for them.
void CallLanes::watch(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  unsigned idle = 0;
  while (!stop.stop_requested()) {
    if (idle < kIdleLooks) {
      wake_.wait_for(lock, stop, kHeldUp, [] { return false; });
    } else {
      watching_ = false;
      wake_.wait(lock, stop, [this] { return watching_; });
      idle = 0;
    }
    idle = lanes_.empty() ? idle + 1 : 0;
    const Clock::time_point now = Clock::now();
    for (auto& [tenant, lane] : lanes_)
      // Without a place in the queue it goes on as it is, until the next look.
      if (!lane.empty() && now - lane.since > kHeldUp && lane.runners < limits_.runners)
        (void)start_leader(tenant, lane);
  }
}

std::size_t CallLanes::waiting() const {
  const std::lock_guard lock(mutex_);
  std::size_t count = 0;
  for (const auto& [tenant, lane] : lanes_)
    count += lane.waiting.size();
  return count;
}

}  // namespace sallyport
