// Bytes as text (RFC 4648, with padding).
#pragma once

#include <string>
#include <string_view>

namespace sallyport {

[[nodiscard]] std::string to_base64(std::string_view bytes);

}  // namespace sallyport
