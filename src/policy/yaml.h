// YAML text to a Node tree, by libfyaml. Only what reads the same to everybody is taken: maps,
// lists and scalars. Anchors, aliases, tags, merge keys, directives, a key that is given twice or
// is no scalar, and characters that an editor hides are errors. JSON is YAML here.
#pragma once

#include <cstddef>
#include <expected>
#include <string_view>
#include <vector>

#include "policy/node.h"
#include "sallyport/policy.h"

namespace sallyport {

inline constexpr std::size_t kLargestPolicy = std::size_t{4} << 20;  // bytes
inline constexpr unsigned kDeepestPolicy = 32;                       // maps and lists
inline constexpr std::size_t kMostPolicyValues = 200'000;

// The one document of `text`, or all that is wrong with it, as far as it could be read. `file` is
// the name that the problems carry.
[[nodiscard]] std::expected<Node, std::vector<PolicyProblem>> parse_yaml(std::string_view text,
                                                                         std::string_view file);

}  // namespace sallyport
