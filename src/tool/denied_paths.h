// `ceiling.files.deny` against what a cell would be shown.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/clock.h"
#include "base/error.h"
#include "cell/spec.h"
#include "policy/rules.h"

namespace sallyport {

// How far the look through the granted trees may go.
struct SearchBounds {
  std::size_t entries = 100'000;           // in all grants together
  std::int64_t (*clock)() = monotonic_ns;  // it may take the spec's timeout by this one
};

// Whether a grant of the spec is, lies below or contains a path that the ceiling denies: a mount
// shows all of a tree, so the denied part cannot be left out of it. Looks at the granted trees as
// they are now, and only where a glob could match. A file that is denied by its own path, without
// wildcards, is found by its other names (hard links) as well; what a wildcard matches is not.
// Reason::cannot_enforce: something denied is there, or the tree is too large to be sure in time.
[[nodiscard]] Result<void> check_denied_paths(const Ceiling& ceiling, const CellSpec& spec,
                                              const SearchBounds& bounds = {});

}  // namespace sallyport
