// Who launches the cell, and what that allows.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "cell/plan.h"
#include "cell/uid_slot.h"

namespace sallyport {

struct Launcher {
  bool privileged = false;  // root of the machine, or of a user namespace that has the uid range
  Identity identity{};
  bool has_other_groups = false;  // supplementary groups beside the own one
  bool can_map_groups = false;    // newgidmap is there and this user has a subordinate gid
};

// An error: root without the capabilities that a cell needs. It cannot act as an ordinary user
// either, because the tool would then be the host's uid 0.
Result<Launcher> current_launcher(const UidRange& range);

// What that has answered for root before.
Result<Launcher> root_launcher();

// The name of a user in the format of /etc/passwd; empty when there is none.
std::string user_name(std::string_view passwd, uid_t uid);

// The first subordinate gid of a user in the format of /etc/subgid.
std::optional<gid_t> subordinate_gid(std::string_view subgid, std::string_view user, uid_t uid);

// Maps the cell's gid and one subordinate gid for `pid` with newgidmap, so that the cell may drop
// its groups.
Result<void> map_groups(pid_t pid, gid_t own, gid_t subordinate);
Result<gid_t> own_subordinate_gid(uid_t uid);

}  // namespace sallyport
