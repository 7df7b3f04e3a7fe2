// Files of the scratch that come back to the host after a call, chosen by globs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "sallyport/artifact.h"
#include "sallyport/finding.h"

namespace sallyport {

// What the finding about a glob says that matches nothing.
inline constexpr std::string_view kNoFileMatches = "no file matches";

struct CollectLimits {
  std::uint64_t max_files;
  std::uint64_t max_bytes;  // of all files together
};

// Copies the files below `workspace_fd` that match one of `globs` to the same relative path below
// `destination_fd`, and returns them sorted by name. Call it when every process of the cell is
// dead.
//
// Only regular files with a single link leave, as 0644 or 0755, owned by the owner of the
// destination. What matches and does not leave (a symlink, a FIFO, a hard link, a name that is not
// plain text or is protected (base/protected_names.h), a file beyond a limit), and a glob that
// matches nothing, is a finding "not_exported". An error means that a glob is malformed and nothing
// was copied, or that the host cannot take any more (a full disk).
Result<std::vector<Artifact>> collect_outputs(int workspace_fd, std::span<const std::string> globs,
                                              int destination_fd, const CollectLimits& limits,
                                              std::vector<Finding>& findings);

}  // namespace sallyport
