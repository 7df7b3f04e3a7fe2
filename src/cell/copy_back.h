// The end of `--write-mode copy`: what the tool changed in its overlay is done to the host
// directory.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cell/export.h"
#include "sallyport/finding.h"

namespace sallyport {

// The extended attributes in which the overlay keeps its marks. It has to be the set that the
// overlay was mounted with: the tool cannot write those, but it can write the others, and a forged
// mark would delete files that it has no right to.
enum class OverlayMarks : std::uint8_t {
  trusted,  // trusted.overlay.*: mounted by root
  user,     // user.overlay.*: mounted with the option userxattr
};

struct CopyBackLimits {
  std::uint64_t
      max_bytes;  // the size of the scratch; only hard links, which become copies, can go beyond it
  std::uint64_t max_entries = 1'000'000;
  std::string_view prefix = {};  // of the names of the tree, for the rules about protected ones
};

struct CopyBackReport {
  std::uint64_t files_written = 0;  // symlinks included
  std::uint64_t directories_made = 0;
  std::uint64_t deleted =
      0;  // entries taken out of the host tree, the content of directories included
  std::uint64_t bytes = 0;  // size of the files written
};

// Applies the upper directory of an overlay to its lower one, `host_fd`, as `owner`, the owner of
// that directory. Call it when every process of the cell is dead and the overlay is gone, with
// redirect_dir, metacopy and index off.
//
// Files arrive with content, permission bits and time of modification, but without set-id bits,
// extended attributes or hard links; directories with their permission bits. The host directory's
// own mode stays. A directory that holds protected names is not taken away. A symlink arrives only
// if it cannot lead out of the tree. What does not arrive (other kinds of files, protected names
// (base/protected_names.h), what the limits cut off, what the host's permissions or mounts refuse)
// leaves the host's entry of that name alone and is a finding "not_copied_back". An error means
// that the rest was not applied: the upper directory cannot be read, or the host cannot take any
// more (a full disk).
Result<CopyBackReport> copy_back(int upper_fd, int host_fd, Owner owner, OverlayMarks marks,
                                 const CopyBackLimits& limits, std::vector<Finding>& findings);

}  // namespace sallyport
