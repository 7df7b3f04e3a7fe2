// The functions of PostgreSQL that a query may call: those that compute something from their
// arguments. Not among them: what reads files, settings or the catalogues, runs other statements,
// sleeps, locks, ends sessions or speaks to other servers.
#pragma once

#include <string_view>

namespace sallyport {

// By its name as the server knows it, without a schema.
[[nodiscard]] bool is_known_function(std::string_view name);

// The types that data is made of. A table's name is a type, too: whether there is one of that name
// would tell whether there is the table.
[[nodiscard]] bool is_known_type(std::string_view name);

}  // namespace sallyport
