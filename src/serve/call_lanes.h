// Calls that are done as soon as they are recorded. What they wait for is the disk; those of a
// tenant that come while another waits go through together, with one wait for all.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "serve/call_queue.h"

namespace sallyport {

struct PendingCall;  // serve/pending_call.h

struct LaneLimits {
  std::size_t together = 64;
  unsigned runners = 2;                       // of one tenant: one waits while the other works
  std::size_t calls = 1000;                   // of one tenant that wait
  std::size_t bytes = std::size_t{64} << 20;  // that the waiting calls of one tenant hold
};

class CallLanes {
 public:
  using Call = std::shared_ptr<PendingCall>;
  using Run = std::function<void(std::vector<Call> calls)>;

  // `run` is called by the workers of the queue, which must have ended before this does.
  CallLanes(CallQueue& queue, Run run, LaneLimits limits = {})
      : queue_(queue), run_(std::move(run)), limits_(limits) {}

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
  };
  [[nodiscard]] bool start_runner(const std::string& tenant);
  void serve(const std::string& tenant);
  [[nodiscard]] std::vector<Call> take(Lane& lane);

  CallQueue& queue_;
  Run run_;
  LaneLimits limits_;
  mutable std::mutex mutex_;
  std::map<std::string, Lane> lanes_;  // with something that waits or runs
};

}  // namespace sallyport
