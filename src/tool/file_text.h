// The bytes of a file, and whether they are text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace sallyport {

// The longest prefix of `bytes` that ends between two characters; nothing when it is not text. At
// the end of a file, half a character is not text.
[[nodiscard]] std::optional<std::string_view> as_text(std::string_view bytes, bool at_end);

// `size` bytes from `offset` on, or as many as there are.
[[nodiscard]] Result<std::string> read_range(int fd, std::uint64_t offset, std::size_t size);

}  // namespace sallyport
