// The roles of a policy at a server: one for each tool, and one more for each role of the policy
// that narrows its tables, so that the server holds every caller to what is in force for it.
#pragma once

#include <string>
#include <string_view>

#include "input/postgres_address.h"

namespace sallyport {

// `role` is that of the policy; empty: it narrows nothing. 63 bytes at most, as names there are.
[[nodiscard]] std::string postgres_role(const PostgresAddress& address, std::string_view tool,
                                        std::string_view role);

// Its password, which nobody keeps: who has the secret of the state directory can make it again.
[[nodiscard]] std::string postgres_password(std::string_view secret, const PostgresAddress& address,
                                            const std::string& role);

// The name of that secret.
inline constexpr const char* kPostgresSecret = "sql-key";

}  // namespace sallyport
