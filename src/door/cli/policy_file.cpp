#include "door/cli/policy_file.h"

#include <cstdio>

#include "base/text.h"

namespace sallyport {

std::optional<Policy> load_policy_file(const std::string& path) {
  auto policy = Policy::load(path);
  if (policy) return std::move(*policy);
  for (const PolicyProblem& problem : policy.error())
    std::fprintf(stderr, "%s\n", escape_for_terminal(to_text(problem)).c_str());
  return {};
}

}  // namespace sallyport
