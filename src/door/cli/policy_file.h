// Loading a policy file for a command.
#pragma once

#include <optional>
#include <string>

#include "sallyport/policy.h"

namespace sallyport {

// The policy; or nothing, with all that is wrong with it on stderr.
[[nodiscard]] std::optional<Policy> load_policy_file(const std::string& path);

}  // namespace sallyport
