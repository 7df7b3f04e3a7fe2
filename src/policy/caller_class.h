// Callers that the policy treats alike, so that a hundred of them are one line.
#pragma once

#include <string>
#include <vector>

#include "policy/rules.h"

namespace sallyport {

// Two callers are alike when they have the same role and tenant, and the same rates, limits and
// concurrency of their own: then they have the same envelope for every tool, but for their names.
struct CallerClass {
  const Caller* example = nullptr;  // one of them
  std::vector<std::string> names;   // all of them, sorted
};

// A text that is equal for callers that are alike, and for no others.
[[nodiscard]] std::string likeness_of(const Caller& caller);

// All callers of the rules, by role and tenant.
[[nodiscard]] std::vector<CallerClass> group_callers(const Rules& rules);

}  // namespace sallyport
