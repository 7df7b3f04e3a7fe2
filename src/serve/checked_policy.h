// The policy file as the service takes it: read once, checked, its `tests:` passed.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "sallyport/policy.h"
#include "serve/front_user.h"

namespace sallyport {

struct CheckedPolicy {
  Policy policy;
  std::string name, text;  // of the file, for messages, and all that it says
};

// Empty `path`: the starter policy. Otherwise all that is wrong, one line each; a file that the
// front could write is wrong too, for it would choose its own ceiling.
[[nodiscard]] std::expected<CheckedPolicy, std::vector<std::string>> read_checked_policy(
    const std::string& path, const FrontUser& user);

}  // namespace sallyport
