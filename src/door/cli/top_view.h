// What `sallyport top` shows: the figures of a service between two looks at its metrics, as text
// for a terminal and as JSON.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "serve/metrics_text.h"

namespace sallyport {

struct RunningCall {
  std::string call_id, tool, caller;
};

// One look at a service.
struct TopSample {
  std::vector<MetricFamily> metrics;
  std::vector<RunningCall> running;  // as far as the key may see them
  double time = 0;                   // of the look, in seconds since the epoch
};

struct Quantiles {
  double p50 = 0, p95 = 0, p99 = 0;  // seconds
};

struct ToolFigures {
  double per_second = 0;
  double calls = 0, refused = 0, failed = 0;  // since the service started
  std::optional<Quantiles> times;             // none: no call ended in that time
};

struct RefusalFigures {
  double count = 0;  // since the service started
  double per_second = 0;
};

struct TopFigures {
  std::string version, policy;
  double up_seconds = 0;
  double seconds = 0;  // that rates and times are about
  double calls_per_second = 0;
  double in_flight = 0, waiting = 0, connections = 0;
  std::optional<double> in_time;  // share of calls; none: there were none
  std::optional<double> audit_lag_seconds;
  std::map<std::string, ToolFigures> tools;
  std::vector<std::pair<std::string, Quantiles>> stages;  // in their order
  std::map<std::string, RefusalFigures> refusals;         // those that there were
  std::vector<RunningCall> running;
};

// Rates and times between two looks; without `before`, since the service started. A service that
// was started again in between is taken from its start.
[[nodiscard]] TopFigures top_figures(const TopSample& now, const TopSample* before);

// At most `height` lines of at most `width` columns; what does not fit is left out, from below.
[[nodiscard]] std::string top_text(const TopFigures& figures, std::size_t width,
                                   std::size_t height);

[[nodiscard]] json::object top_json(const TopFigures& figures);

}  // namespace sallyport
