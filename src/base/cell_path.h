// Places in a cell: which paths inside can be meant, and which are the cell's own.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/error.h"

namespace sallyport {

// Reads an absolute path in the cell. "." and "..", empty components and relative paths are errors;
// one trailing '/' is taken off.
[[nodiscard]] Result<std::string> parse_inside_path(std::string_view text);

// Whether something of the host may be placed at `inside`, a path as parse_inside_path gives it.
// The places that the cell's own parts live in are refused.
[[nodiscard]] Result<void> check_grant_place(std::string_view inside);

// The same for what a caller shows of its own: it may neither replace a program that the tool's
// rules allow, nor anything that it starts with. `taken`: where the tool has files of its own.
[[nodiscard]] Result<void> check_client_place(std::string_view inside,
                                              std::span<const std::string> taken);

}  // namespace sallyport
