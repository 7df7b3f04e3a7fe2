// The classes of cells that the calls of a policy will want, before the first call is there.
#pragma once

#include <string>
#include <vector>

#include "policy/rules.h"

namespace sallyport {

// The classes (as the front encodes them) of all tools and all callers that may call them, without
// those that are not parked. None where the policy keeps no cell ready (`pool.min`). A call that
// tightens its limits or brings an input has another class, which begins with it.
[[nodiscard]] std::vector<std::string> expected_classes(const Rules& rules,
                                                        const std::string& program);

}  // namespace sallyport
