// `ceiling.files.deny` against what a cell would be shown.
#pragma once

#include <cstddef>

#include "base/error.h"
#include "cell/spec.h"
#include "policy/rules.h"

namespace sallyport {

// Whether a grant of the spec is, lies below or contains a path that the ceiling denies: a mount
// shows all of a tree, so the denied part cannot be left out of it. Looks at the granted trees as
// they are now, and only where a glob could match. Reason::cannot_enforce: something denied is
// there, or the tree is too large to be sure.
[[nodiscard]] Result<void> check_denied_paths(const Ceiling& ceiling, const CellSpec& spec,
                                              std::size_t most_entries = 100'000);

}  // namespace sallyport
