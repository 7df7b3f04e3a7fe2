// The character classes of HTTP, each byte of which is one of ASCII: a byte above it is never part
// of a head.
#pragma once

#include <algorithm>
#include <string_view>

namespace sallyport {

constexpr bool is_digit_char(char c) {
  return c >= '0' && c <= '9';
}
constexpr bool is_alpha_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
constexpr char lower_char(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
// tchar of RFC 9110: what names of headers and methods are made of.
constexpr bool is_token_char(char c) {
  return is_alpha_char(c) || is_digit_char(c) ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}
// What a value may hold: visible ASCII, space and tab.
constexpr bool is_value_char(char c) {
  return (c >= 0x20 && c < 0x7F) || c == '\t';
}
// The value of a hexadecimal digit; -1: it is none.
constexpr int hex_value(char c) {
  if (is_digit_char(c)) return c - '0';
  const char low = lower_char(c);
  return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}
constexpr bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, lower_char, lower_char);
}
// Without the spaces and tabs at both ends.
constexpr std::string_view without_spaces(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
    text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t'))
    text.remove_suffix(1);
  return text;
}

}  // namespace sallyport
