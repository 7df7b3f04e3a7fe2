// What was promised of warm cells, and what came of it.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"

namespace sallyport::warm {

struct Measure {
  std::string what, bar, goal, found;
  std::string met;    // "goal", "bar", "no", or "not measured"
  std::string bones;  // what those have who do nothing else
  double value = 0;   // what is compared; 0: not measured
};

[[nodiscard]] std::vector<Measure> measures(const json::object& all);

}  // namespace sallyport::warm
