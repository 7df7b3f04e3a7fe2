// What a rule sees of the text around an anchor.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "redact/recall.h"

namespace sallyport {

// Some text before the anchor, the anchor, and the window behind it. The text ends at the end of
// the window, at a marker or at the end of the stream: never where a piece of the stream happened
// to end, so that what is found does not depend on how the text was cut into pieces.
struct Sight {
  std::string_view text;
  std::size_t at = 0;         // where the anchor begins
  std::size_t after = 0;      // where it ends
  char next = '\0';           // the character behind the text; a letter if that is a marker
  bool open = false;          // the stream goes on behind the window
  bool marker = false;        // a marker of an earlier redaction follows
  bool after_marker = false;  // one ends where the anchor begins: what was there is not known
  std::size_t taken = 0;      // up to here all is taken out already, and named as well
  Recall* recall = nullptr;   // of the stream; always there

  [[nodiscard]] char operator[](std::size_t i) const {
    return i < text.size() ? text[i] : i == text.size() ? next : '\0';
  }
  // The first place from `i` on that has no character of the class, or the end of the text.
  [[nodiscard]] std::size_t run_end(std::size_t i, const CharClass& chars) const {
    return recall->run_end(text, i, chars);
  }
};

[[nodiscard]] constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
[[nodiscard]] constexpr bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
[[nodiscard]] constexpr bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}
[[nodiscard]] constexpr bool is_letter(char c) {
  return is_lower(c) || is_upper(c);
}
[[nodiscard]] constexpr bool is_alnum(char c) {
  return is_digit(c) || is_letter(c);
}
[[nodiscard]] constexpr bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
[[nodiscard]] constexpr bool is_blank(char c) {
  return c == ' ' || c == '\t';
}
[[nodiscard]] constexpr bool is_space(char c) {
  return is_blank(c) || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}
[[nodiscard]] constexpr char to_lower(char c) {
  return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c;
}
[[nodiscard]] constexpr bool is_quote(char c) {
  return c == '"' || c == '\'' || c == '`';
}

// Whether `text` begins with `word`, which is in lower case.
[[nodiscard]] constexpr bool begins_caseless(std::string_view text, std::string_view word) {
  if (text.size() < word.size()) return false;
  for (std::size_t i = 0; i < word.size(); ++i)
    if (to_lower(text[i]) != word[i]) return false;
  return true;
}

// Whether `word`, which is in lower case, stands in the text.
[[nodiscard]] constexpr bool contains_caseless(std::string_view text, std::string_view word) {
  for (std::size_t i = 0; i + word.size() <= text.size(); ++i)
    if (begins_caseless(text.substr(i), word)) return true;
  return false;
}

}  // namespace sallyport
