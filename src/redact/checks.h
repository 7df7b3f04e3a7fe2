// Questions about a candidate that a regular expression cannot answer.
#pragma once

#include <string_view>

#include "redact/makeup.h"

namespace sallyport {

// The check digit of card numbers is right; everything but digits is passed over.
[[nodiscard]] bool passes_luhn(std::string_view number);

// Has at least so many bits per character, of the characters as they are distributed in the text.
[[nodiscard]] bool has_entropy(std::string_view text, double bits);

// Has a letter, a digit and at least six different characters.
[[nodiscard]] bool is_mixed(std::string_view text);

// Is base64url of the JSON of a token's header.
[[nodiscard]] bool is_jwt_header(std::string_view text);

// Is base64 of text whose first line says that a private key follows.
[[nodiscard]] bool decodes_to_private_key(std::string_view text);

// Stands for a value that is not there: <your-key>, ${TOKEN}, ****, xxxx.
[[nodiscard]] bool is_placeholder(std::string_view value);
[[nodiscard]] bool is_placeholder(std::string_view value, const Makeup& makeup);

}  // namespace sallyport
