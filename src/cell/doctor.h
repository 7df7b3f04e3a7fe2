// `sallyport doctor`, without the printing: tries whole cells in fresh processes, looks at the
// host, and says what it is good for.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cell/doctor_checks.h"

namespace sallyport {

// One `sallyport run --json -- /bin/true`.
struct Trial {
  bool worked = false;
  std::vector<std::pair<std::string, std::string>> layers;  // as they were in force
  std::string message, hint;                                // when it did not work
};

// Reads the result that the program printed.
[[nodiscard]] Trial parse_trial(std::string_view output);

// Runs this very program in a fresh process with nothing of the environment but Sallyport's own
// settings, and waits a bounded time.
[[nodiscard]] Trial try_cell(const std::vector<std::string>& required_layers);

enum class Strength {
  strongest,  // every layer is in force
  weaker,     // cells work, and `weaker` names the layers that are not in force
  none,       // no cell can be made
};

constexpr std::string_view name_of(Strength strength) {
  switch (strength) {
    case Strength::strongest:
      return "strongest";
    case Strength::weaker:
      return "weaker";
    case Strength::none:
      return "none";
  }
  return {};
}

struct Diagnosis {
  std::string kernel;
  Trial cell;
  std::vector<std::string> weaker;
  std::vector<Check> checks;  // the last is the whole cell

  [[nodiscard]] Strength strength() const {
    if (!cell.worked) return Strength::none;
    return weaker.empty() ? Strength::strongest : Strength::weaker;
  }
};

[[nodiscard]] Diagnosis diagnose();

}  // namespace sallyport
