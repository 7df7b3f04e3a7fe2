// Calls that are done as soon as they are recorded. What they wait for is the disk; those of a
// tenant that come while others wait go through together, with one wait for all. So do their ends:
// what has run is recorded when the next ones begin.
//
// One runner leads a lane. What is on its way stands in the lane and not with the runner: one that
// is held up, by a slow disk or a slow function, is replaced, and keeps no call but the one that it
// runs.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/short_mutex.h"
#include "serve/call_queue.h"

namespace sallyport {

struct PendingCall;  // serve/pending_call.h

struct LaneLimits {
  std::size_t together = 64;
  unsigned runners = 8;                       // of one tenant: more than one if they are held up
  std::size_t calls = 1000;                   // of one tenant that wait
  std::size_t bytes = std::size_t{64} << 20;  // that the waiting calls of one tenant hold
};

class CallLanes {
 public:
  using Call = std::shared_ptr<PendingCall>;
  // What is done with calls, by the workers of the queue.
  struct Steps {
    // Ends the calls that have run, and begins the next ones. Either may be none.
    std::function<void(std::vector<Call> ran, std::span<const Call> next)> end_and_begin;
    // Runs one that has begun.
    std::function<void(const Call& call)> run;
  };

  // The workers of the queue must have ended before this does.
  CallLanes(CallQueue& queue, Steps steps, LaneLimits limits = {});
  CallLanes(const CallLanes&) = delete;
  CallLanes& operator=(const CallLanes&) = delete;

  struct Arrival {
    std::string tenant;
    std::size_t bytes;
    Call call;
  };
  // Takes them out of the list. Those that are left: too much of their tenant is waiting.
  void push(std::vector<Arrival>& arrived);
  [[nodiscard]] std::size_t waiting() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Waiting {
    std::size_t bytes;
    Call call;
  };
  // With something in it, it has a leader.
  struct Lane {
    std::vector<Waiting> waiting;
    std::size_t bytes = 0;
    std::vector<Call> begun;  // and not run; the first at the end
    std::vector<Call> ran;    // and not ended
    unsigned runners = 0;
    std::uint64_t leader = 0;  // the number of a runner; 0: none
    // That the leader does what it does; max: it waits for a worker.
    Clock::time_point since = Clock::time_point::max();
    [[nodiscard]] bool empty() const { return waiting.empty() && begun.empty() && ran.empty(); }
  };
  void serve(const std::string& tenant, std::uint64_t runner);
  void watch(const std::stop_token& stop);
  // Waits a moment for calls to come. The lock is held before and after.
  void linger(const Lane& lane, std::uint64_t runner, std::unique_lock<ShortMutex>& lock) const;
  // All of these with the lock held.
  [[nodiscard]] bool add(Arrival& arrival);
  [[nodiscard]] bool start_leader(const std::string& tenant, Lane& lane);
  [[nodiscard]] bool lead_later(const std::string& tenant, Lane& lane, std::uint64_t runner);
  [[nodiscard]] std::vector<Call> take(Lane& lane) const;

  CallQueue& queue_;
  Steps steps_;
  LaneLimits limits_;
  mutable ShortMutex mutex_;
  std::map<std::string, Lane> lanes_;  // with a runner
  std::uint64_t last_runner_ = 0;
  bool watching_ = false;  // the watcher looks now and then; otherwise it must be woken
  std::condition_variable_any wake_;
  std::jthread watcher_;
};

}  // namespace sallyport
