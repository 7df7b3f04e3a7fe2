// Where a tool sees a path of the host.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "policy/rules.h"

namespace sallyport {

// The path in the tool's cell at which its grants show `host`; nothing when none does. Of several
// grants that show it, the one of the deepest directory counts, and of equals the first.
[[nodiscard]] std::optional<std::string> inside_path(const FileRules& files, std::string_view host);

}  // namespace sallyport
