// The part of a root that never changes: its tmpfs with /etc and the places for mounts, and the
// host's system attached to it. Whoever makes many cells of one class makes it once, in a mount
// namespace that has nothing else. A cell enters that namespace and takes a copy of it for
// itself, which saves it most of its mounts, and all of the host's. It is read-only, so cells share
// nothing but what they could all read anyway.
#pragma once

#include "base/error.h"
#include "base/fd.h"
#include "cell/spec.h"

namespace sallyport {

struct SharedRoot {
  Fd mounts;  // the mount namespace
  Fd root;    // its root
};

// Whether cells of the class may have one: those that add nothing to it, made by root.
[[nodiscard]] bool may_share_root(const CellSpec& spec);

// Nothing of it is seen outside.
[[nodiscard]] Result<SharedRoot> make_shared_root(const CellSpec& spec);

}  // namespace sallyport
