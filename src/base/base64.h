// Bytes as text (RFC 4648, with padding).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sallyport {

[[nodiscard]] std::string to_base64(std::string_view bytes);

// None: the text is not what to_base64 could have made. There is one text for given bytes, so
// nothing can hide in how it is written.
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);

}  // namespace sallyport
