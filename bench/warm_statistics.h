// What a number of measured times come to.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/json.h"

namespace sallyport::warm {

struct Summary {
  double p50 = 0, p95 = 0, p99 = 0;  // microseconds
  std::size_t count = 0;
};

inline Summary summarise(std::vector<double> values) {
  if (values.empty()) return {};
  std::ranges::sort(values);
  const auto at = [&](double share) {
    const auto place = static_cast<std::size_t>(share * static_cast<double>(values.size()));
    return values[std::min(values.size() - 1, place)];
  };
  return {.p50 = at(0.5), .p95 = at(0.95), .p99 = at(0.99), .count = values.size()};
}

inline json::object to_json(const Summary& summary) {
  return {{"p50_us", summary.p50},
          {"p95_us", summary.p95},
          {"p99_us", summary.p99},
          {"count", summary.count}};
}

}  // namespace sallyport::warm
