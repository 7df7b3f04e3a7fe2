// Who the front is, and what is given to it.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace sallyport {

// Belongs to nobody: below the ids that systemd hands out to services (61184 to 65519), above
// those that login users have.
inline constexpr uid_t kFrontUid = 60864;

inline constexpr const char* kDefaultState = "/var/lib/sallyport";  // of a service of root's

struct FrontUser {
  uid_t uid;
  gid_t gid;
  bool changes = false;  // the front becomes it; otherwise it is who the keeper is
};

// The user of that name in `passwd`, which has the format of /etc/passwd.
[[nodiscard]] std::optional<FrontUser> find_user(std::string_view passwd, std::string_view wanted);

// `name` is the option: a name or a number; empty: `sallyport` if `passwd`, in the format of
// /etc/passwd, has it, and kFrontUid if not. Only root (`self` 0) can make the front somebody else,
// and must.
[[nodiscard]] Result<FrontUser> choose_front_user(const std::string& name, std::string_view passwd,
                                                  uid_t self, gid_t own_group);

// Who the egress process is: where the front becomes somebody else, a third who belongs to nobody.
[[nodiscard]] FrontUser choose_egress_user(const FrontUser& front);

// Makes the state directory and gives it to the front, with everything in it that root has put
// there. Its absolute path. Empty `path`: kDefaultState for root, otherwise the user's private
// one. Refused: what belongs to a third, what others may write to, and what the front cannot enter.
[[nodiscard]] Result<std::string> prepare_state(const std::string& path, const FrontUser& user);

}  // namespace sallyport
