// The functions of SQLite that a query may use.
#pragma once

#include <string_view>

namespace sallyport {

// Whether it computes from its arguments alone (or the clock, or chance): nothing that reads or
// writes files, loads code, or tells of the connection. What is not known is not allowed.
[[nodiscard]] bool is_allowed_function(std::string_view name);

}  // namespace sallyport
