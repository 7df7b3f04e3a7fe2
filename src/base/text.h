// Text that comes from outside (paths, arguments, a tool's output) made safe to print, to quote and
// to put into JSON.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sallyport {

// The first character of a text.
struct Utf8Char {
  char32_t code = 0;       // U+FFFD when the bytes are not a character
  std::size_t length = 0;  // how many bytes to step over; never 0
  bool valid = false;      // the bytes are one well-formed character
  bool cut_off = false;    // well-formed so far, but the text ended within the character
};

// Decodes the first character of `bytes`, which must not be empty. Overlong forms, surrogates and
// codes above U+10FFFF are not characters. A run of bytes that is not a character is stepped over
// as the Unicode standard recommends, so that two correct decoders agree on the number of U+FFFD.
[[nodiscard]] Utf8Char first_utf8_char(std::string_view bytes);

[[nodiscard]] bool is_utf8(std::string_view bytes);

// `bytes` with everything that is not UTF-8 replaced by U+FFFD. Valid UTF-8 comes back unchanged.
[[nodiscard]] std::string to_utf8(std::string_view bytes);

// `text` with every character that could move the cursor, colour the screen, reorder or hide text
// made visible as \xNN or
// \u{NNNN}, and the bytes that are not UTF-8 as \xNN. Idempotent: a message may be escaped again as
// a whole.
[[nodiscard]] std::string escape_for_terminal(std::string_view text);

// `text` for use within a message of ours: escaped, in single quotes, and shortened when it is
// long.
[[nodiscard]] std::string quoted(std::string_view text);

// `word` as a POSIX shell reads it back: one word, every byte unchanged.
[[nodiscard]] std::string shell_quote(std::string_view word);

// The candidate that a person most likely meant by `word`: a slip of a letter or two away, or else
// the only one that begins with `word`. The first of equals.
[[nodiscard]] std::optional<std::string_view> nearest(std::string_view word,
                                                      std::span<const std::string_view> candidates);

// The first component of a path that is empty, "." or "..", or nothing. A leading '/' does not make
// an empty component, a trailing one does.
[[nodiscard]] std::optional<std::string_view> irregular_component(std::string_view path);

}  // namespace sallyport
