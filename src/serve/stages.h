// Where the time of a call went: the stages that the boundary notes, and the wait before them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "sallyport/call.h"

namespace sallyport {

// In their order. The first is the time that no other has: a call waits for its turn and for a
// worker, before the gates or behind them.
inline constexpr std::array<std::string_view, 6> kCallStages = {"wait", "gates",   "intent",
                                                                "run",  "way_out", "outcome"};

using StageTimes = std::array<std::optional<std::int64_t>, kCallStages.size()>;  // microseconds

// None: the call did not get to that stage. A call of which no stage is known has none at all.
[[nodiscard]] inline StageTimes stage_times(const CallResult& result, std::int64_t total_us) {
  StageTimes times;
  std::int64_t sum = 0;
  for (const Timing& stage : result.stages) {
    for (std::size_t i = 1; i < kCallStages.size(); ++i) {
      if (kCallStages[i] != stage.step) continue;
      times[i] = times[i].value_or(0) + stage.microseconds;
      sum += stage.microseconds;
    }
  }
  if (!result.stages.empty()) times[0] = std::max<std::int64_t>(total_us - sum, 0);
  return times;
}

}  // namespace sallyport
