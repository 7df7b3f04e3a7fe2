// Makes the roles of a policy at a server, and holds them to it.
#pragma once

#include <string>
#include <vector>

#include "postgres/rights.h"

namespace sallyport {

struct RoleWish {
  std::string role;
  std::string password;
  SqlOrder allowed;  // its tables
};

struct PreparedRole {
  PgRights rights;                   // as they are now
  std::vector<std::string> missing;  // what the policy lists and the database does not have
};

// In one transaction: all of it, or nothing. Refused: a role of this name that was not made here,
// and one that could do more than the wish even so, because everybody may.
[[nodiscard]] Result<PreparedRole> prepare_role(PgConnection& administrator, const RoleWish& wish);

// Whether the role, logged in as itself, is held to the wish.
[[nodiscard]] Result<PreparedRole> check_role(PgConnection& role, const RoleWish& wish);

}  // namespace sallyport
