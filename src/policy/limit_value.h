// One limit as text: "30s", "256MiB", "64". What the loader reads, what a call asks for, and what
// is shown.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "policy/limit_table.h"
#include "sallyport/error.h"

namespace sallyport {

// Reads `text` as the limit `name` of the table into `limits`. Errors: a name that is no limit, a
// bad unit, and a value that no cell can be given, such as an `io` of 0, which a kernel would take
// for no limit at all.
[[nodiscard]] Result<void> set_limit(LimitRules& limits, std::string_view name,
                                     std::string_view text);

// The value in the shortest form that reads back as the same.
[[nodiscard]] std::string limit_text(Duration value);
[[nodiscard]] std::string limit_text(ByteSize value);
[[nodiscard]] std::string limit_text(Rate value);
[[nodiscard]] std::string limit_text(double value);
[[nodiscard]] std::string limit_text(unsigned value);
[[nodiscard]] std::string limit_text(std::uint64_t value);

}  // namespace sallyport
