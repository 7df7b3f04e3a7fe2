// What the service counts, in the text format of Prometheus.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "launch/cell_pool.h"
#include "sallyport/call.h"

namespace sallyport {

// Who called what, by names of the policy. What a client made up must not become a label: every
// name is a series that is kept for ever. Empty: the policy has nothing of that name.
struct CallLabels {
  std::string_view tool, tenant;
};

// What is read off the service at the moment of the question.
struct MetricGauges {
  std::uint64_t calls_in_flight = 0, calls_waiting = 0;
  std::uint64_t connections = 0, connections_accepted = 0, http_requests = 0, http_refused = 0;
  std::string policy;  // hash of the one in force
  // Records that calls wait for until they are durable, and the age of the oldest. None: it is not
  // known.
  std::optional<std::uint64_t> audit_waiting, audit_lag_us;
  // Spans that a collector took, and those that were dropped. None: no traces are sent.
  std::optional<std::uint64_t> spans_sent, spans_dropped;
  // None: the launcher does not answer.
  std::optional<PoolStatus> pool;
};

class ServiceMetrics {
 public:
  // Past so many of them, further ones are counted as "other".
  static constexpr std::size_t kMostPairs = 400;  // of tool and tenant
  static constexpr std::size_t kMostTools = 100;

  ServiceMetrics();
  ~ServiceMetrics();
  ServiceMetrics(const ServiceMetrics&) = delete;
  ServiceMetrics& operator=(const ServiceMetrics&) = delete;

  // All functions from any thread.

  // A call has ended, `total_us` after it arrived.
  void observe(const CallResult& result, const CallLabels& labels, std::int64_t total_us);
  // A policy file was read again.
  void reloaded(bool good);
  // An answer goes out.
  void http_status(unsigned status);
  [[nodiscard]] std::string render(const MetricGauges& gauges) const;

 private:
  struct Counts;
  std::unique_ptr<Counts> counts_;
};

}  // namespace sallyport
