// Traces of calls for an OpenTelemetry collector: OTLP over HTTP, as JSON.
//
// One span per call, `execute_tool NAME`, after the conventions for GenAI tool execution, with a
// child for each stage. Never an argument, an output or a message in them: a collector is not the
// audit log.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/error.h"
#include "sallyport/call.h"
#include "serve/metrics.h"

namespace sallyport {

struct TraceSettings {
  std::string url;  // of the collector, "http://127.0.0.1:4318"; /v1/traces is put behind it
  std::size_t most_waiting = 4096;           // calls; past it, further ones are dropped
  std::size_t batch = 512;                   // calls in one request
  std::chrono::milliseconds interval{1000};  // between requests
  std::chrono::milliseconds patience{2000};  // for one request
  std::chrono::milliseconds longest_pause{
      30'000};  // before a collector that is away is tried again
};

struct TraceNumbers {
  std::uint64_t sent = 0, dropped = 0;  // spans
};

class Traces {
 public:
  // Fails for a URL that cannot be dialled: http, and an address or localhost.
  [[nodiscard]] static Result<std::unique_ptr<Traces>> open(TraceSettings settings);
  // Tries once more to send what waits.
  ~Traces();
  Traces(const Traces&) = delete;
  Traces& operator=(const Traces&) = delete;

  // A call has ended, `total_us` after it arrived. `parent` is the W3C trace context that came with
  // it, or empty; a parent that was not sampled is not traced. Never waits: from any thread.
  void record(const CallResult& result, const CallLabels& labels, const std::string& parent,
              std::int64_t total_us);

  [[nodiscard]] TraceNumbers numbers() const;

 private:
  struct Queue;
  explicit Traces(std::unique_ptr<Queue> queue);
  std::unique_ptr<Queue> queue_;
};

}  // namespace sallyport
