// Giving up privileges, for good. Nothing here allocates.
#pragma once

#include <sys/types.h>

#include "base/error.h"

namespace sallyport {

// Becomes `uid`/`gid` with no supplementary groups, keeping capabilities for the user namespace
// that comes next.
Sys<void> become(uid_t uid, gid_t gid);

// Has no supplementary groups any more.
Sys<void> drop_groups();

// Empties every capability set, the bounding set first, and locks the rules that could give
// capabilities to uid 0.
Sys<void> drop_capabilities();

// From here on no execve gives privileges.
Sys<void> set_no_new_privileges();

// Whether other processes of the same user may look into this one.
Sys<void> set_dumpable(bool dumpable);

// Leaves the launcher's session keyring for a new, empty one.
Sys<void> join_new_keyring();

}  // namespace sallyport
