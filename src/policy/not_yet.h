// What the policy file can ask for and this version does not give. A control that was asked for and
// cannot be had is a refusal (`unavailable`), never left out; a row goes when its feature comes.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "policy/rules.h"

namespace sallyport {

struct NotYet {
  std::string_view key;   // below tools.NAME
  std::string_view what;  // "network access"
  bool (*asked)(const Tool&);
};

// Every row refuses every call of a tool that asks for it. Approval is not among them: it depends
// on the arguments whether a call needs one.
[[nodiscard]] std::span<const NotYet> not_yet();

// What this version lacks so that it refuses every call of the tool, whatever the arguments; none:
// it can be called. An approval counts if every call has to wait for one.
[[nodiscard]] std::vector<std::string_view> lacks(const Tool& tool);

}  // namespace sallyport
