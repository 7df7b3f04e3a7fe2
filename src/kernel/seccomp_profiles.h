// The named syscall profiles that a user can ask for (`--syscalls NAME`, `syscalls:` in a policy
// file).
#pragma once

#include <string_view>
#include <vector>

#include "base/error.h"
#include "kernel/seccomp_policy.h"

namespace sallyport {

struct ProfileOptions {
  // For a cell that sees a directory of the host: connect() goes through a read-only mount to
  // whatever daemon listens at a path in it, and Landlock does not cover that before ABI 9.
  bool refuse_path_sockets = false;

  // For a cell without a cgroup: a watcher sees what is mapped and what lies in the scratch, but
  // not a memory file or a System V segment that no process has mapped.
  bool refuse_unmapped_memory = false;

  bool operator==(const ProfileOptions&) const = default;
};

struct ProfileText {
  std::string_view name;
  std::string_view sentence;
};

// All profiles, the one to use when nothing is said first.
[[nodiscard]] std::vector<ProfileText> profile_texts();

// An error means that there is no profile of that name; its hint lists those that there are.
[[nodiscard]] Result<SeccompPolicy> make_profile(std::string_view name,
                                                 ProfileOptions options = {});

}  // namespace sallyport
