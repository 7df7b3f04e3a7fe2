// The `tests:` of a policy file, run: decisions only, nothing is executed.
#pragma once

#include <string>
#include <vector>

#include "sallyport/policy.h"

namespace sallyport {

struct PolicyTestOutcome {
  unsigned line = 0;
  std::string name;     // "agent_42 calls delete_user"
  std::string failure;  // what was decided instead; empty: as expected
  [[nodiscard]] bool passed() const { return failure.empty(); }
};

[[nodiscard]] std::vector<PolicyTestOutcome> run_policy_tests(const Policy& policy);

}  // namespace sallyport
