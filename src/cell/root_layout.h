// What the cell's root directory shows: the host's system read-only with a synthetic /etc, or a
// directory of the user's own; in both, /tmp, /workspace, /dev and /proc are the cell's.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "cell/plan.h"

namespace sallyport {

// Adds entries and mounts to the plan. `root` is empty for the host's system, else a directory. A
// root in which a place of the cell's own (/dev, /proc, /tmp, …) is anything but a directory is
// refused.
Result<void> lay_out_root(Plan& plan, const std::string& root);

// The program that a warm interpreter is restored with.
[[nodiscard]] RootEntry restore_entry();

// Whether a cell with the host's system has something at this path of /etc: its own, or the host's.
[[nodiscard]] bool is_in_own_etc(std::string_view path);

// Looks at a host path that is to be mounted. A symlink anywhere in it is refused, and the error
// names the real path.
Result<HostMount> host_mount(const std::string& source, const std::string& target, Access access);

}  // namespace sallyport
