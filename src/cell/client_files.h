// What a client of the service shows to its own command (`run --via --read`). Everything is mounted
// from the client's descriptors and shown with the client's rights: a path that the client can
// change decides nothing, and neither does what root may read.
#pragma once

#include <string>

#include "base/error.h"
#include "cell/prepare.h"

namespace sallyport {

// The path of what a client's descriptor stands for. An error: it is not an O_PATH descriptor of a
// file or directory, or there is no such path in our own mounts (it is deleted, or of another mount
// namespace).
[[nodiscard]] Result<std::string> real_path(const ClientFile& file);

// Whether a call may have all that its client shows where it wants it: beside the system and the
// tool's own files, and not in their place.
[[nodiscard]] Result<void> check_client_places(const CellSpec& spec);

// Adds mounts, Landlock rules and protected names to the plan. An error names the path that the
// client gave.
[[nodiscard]] Result<void> add_client_files(const ClientShare& client, Prepared& cell);

}  // namespace sallyport
