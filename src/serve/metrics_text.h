// The text format of Prometheus, read strictly: what `sallyport top` sees, and what the tests hold
// the service to.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace sallyport {

struct MetricSample {
  std::string name;  // of the family, or with _bucket, _sum or _count behind it
  std::map<std::string, std::string, std::less<>> labels;
  double value = 0;

  // Empty: it has no such label.
  [[nodiscard]] std::string_view label(std::string_view label_name) const;
};

struct MetricFamily {
  std::string name, help, type;
  std::vector<MetricSample> samples;
};

// A page of metrics: the families in their order. Refused: a family without HELP and TYPE before
// its samples or given twice, a sample outside its family, a series given twice, counters below
// zero, a histogram whose buckets fall or do not end in +Inf with the count, a last line that is
// cut off.
[[nodiscard]] Result<std::vector<MetricFamily>> parse_metrics(std::string_view text);

}  // namespace sallyport
