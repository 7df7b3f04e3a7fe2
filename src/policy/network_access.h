// What a tool may reach, as the egress process is told.
#pragma once

#include "egress/rules.h"
#include "policy/rules.h"

namespace sallyport {

// Nothing allowed: the tool has its own loopback only.
[[nodiscard]] EgressRules network_access(const Ceiling& ceiling, const Tool& tool);

}  // namespace sallyport
