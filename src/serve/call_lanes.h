// Calls that are done as soon as they are recorded. What they wait for is the disk; those of a
// tenant that come while others wait go through together, with one wait for all. So do their ends:
// what has run is recorded when the next ones begin.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "serve/call_queue.h"

namespace sallyport {

struct PendingCall;  // serve/pending_call.h

struct LaneLimits {
  std::size_t together = 64;
  unsigned runners = 2;                       // of one tenant: more than one if it is held up
  std::size_t calls = 1000;                   // of one tenant that wait
  std::size_t bytes = std::size_t{64} << 20;  // that the waiting calls of one tenant hold
};

class CallLanes {
 public:
  using Call = std::shared_ptr<PendingCall>;
  // Ends the calls that have run, and runs the next ones. Either may be none.
  using Step = std::function<void(std::span<const Call> ran, std::span<const Call> next)>;

  // `step` is called by the workers of the queue, which must have ended before this does.
  CallLanes(CallQueue& queue, Step step, LaneLimits limits = {})
      : queue_(queue), step_(std::move(step)), limits_(limits) {}

  // False: too much of this tenant is waiting.
  [[nodiscard]] bool push(const std::string& tenant, std::size_t bytes, Call call);
  [[nodiscard]] std::size_t waiting() const;

 private:
  struct Waiting {
    std::size_t bytes;
    Call call;
  };
  struct Lane {
    std::vector<Waiting> waiting;
    std::size_t bytes = 0;
    unsigned runners = 0;
    std::chrono::steady_clock::time_point stepped;  // when one of them last took calls
  };
  [[nodiscard]] bool needs_runner(const Lane& lane) const;
  [[nodiscard]] bool start_runner(const std::string& tenant);
  void serve(const std::string& tenant);
  [[nodiscard]] std::vector<Call> take(Lane& lane);

  CallQueue& queue_;
  Step step_;
  LaneLimits limits_;
  mutable std::mutex mutex_;
  std::map<std::string, Lane> lanes_;  // with something that waits or runs
};

}  // namespace sallyport
