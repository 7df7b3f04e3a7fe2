// The parts of a running service, as its handlers share them.
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "access/keys.h"
#include "launch/cell_pool.h"
#include "sallyport/boundary.h"
#include "serve/call_board.h"
#include "serve/call_lanes.h"
#include "serve/call_queue.h"
#include "serve/metrics.h"
#include "serve/pending_call.h"
#include "serve/traces.h"

namespace sallyport {

struct Service {
  Boundary& boundary;
  KeyRing& keys;
  CallBoard& board;
  CallQueue& queue;
  ServiceMetrics& metrics;
  int state;                              // descriptor of the state directory
  std::function<HttpNumbers()> http;      // of the server
  std::function<Result<void>()> reload;   // reads the policy file again, and waits for it
  std::function<Result<void>()> can_run;  // whether there is a launcher
  std::atomic<bool>& ready;               // false: draining
  std::function<std::optional<PoolStatus>()> pool = {};  // of the launcher; nothing: not known
  Traces* traces = nullptr;                              // none: nobody collects them
  CallLanes lanes{queue, {.end_and_begin = end_and_begin, .run = run_begun}};
};

}  // namespace sallyport
