// References between schemas: RFC 3986 resolution, fragments and JSON pointers. Nothing is fetched.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sallyport {

// `reference` as seen from `base` (RFC 3986, 5.2), with its fragment. A base without a scheme is
// allowed: then the result has none either.
[[nodiscard]] std::string resolve_uri(std::string_view base, std::string_view reference);

// The part behind '#', or nothing when there is no '#'. `uri` loses both.
[[nodiscard]] std::optional<std::string_view> take_fragment(std::string_view& uri);

// %41 becomes A. Empty for a '%' without two hexadecimal digits.
[[nodiscard]] std::optional<std::string> percent_decode(std::string_view text);

// The tokens of a JSON pointer, unescaped. Empty for what is not one.
[[nodiscard]] std::optional<std::vector<std::string>> pointer_tokens(std::string_view pointer);

// `token` as a part of a JSON pointer: ~ as ~0, / as ~1.
[[nodiscard]] std::string pointer_token(std::string_view token);

}  // namespace sallyport
