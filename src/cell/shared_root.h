// The part of a root that never changes: its tmpfs with /etc and the places for mounts, and the
// host's system attached to it. A process that makes many cells of one class makes it once, in a
// mount namespace of its own. A cell is born with a copy of that namespace, and takes what lies
// there as its root, which saves it most of its mounts. It is read-only, so cells share nothing but
// what they could all read anyway.
#pragma once

#include <sys/stat.h>

#include <string>

#include "base/error.h"
#include "cell/spec.h"

namespace sallyport {

struct SharedRoot {
  std::string place;  // where it is attached in the mount namespace of this process
  struct stat is{};
};

// Whether cells of the class may have one: those that add nothing to it, made by root.
[[nodiscard]] bool may_share_root(const CellSpec& spec);

// Takes this process, which has no other threads, into a mount namespace of its own for good, also
// where it fails; nothing of it is seen outside.
[[nodiscard]] Result<SharedRoot> make_shared_root(const CellSpec& spec);

}  // namespace sallyport
