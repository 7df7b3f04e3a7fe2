// The functions of PostgreSQL that a query may call: those that compute something from their
// arguments. Not among them: what reads files, settings or the catalogues, runs other statements,
// sleeps, locks, ends sessions or speaks to other servers.
#pragma once

#include <string_view>

namespace sallyport {

// By its name as the server knows it, without a schema.
[[nodiscard]] bool is_known_function(std::string_view name);

}  // namespace sallyport
