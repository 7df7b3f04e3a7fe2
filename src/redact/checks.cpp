#include "redact/checks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include "redact/sight.h"

namespace sallyport {
namespace {

constexpr std::size_t kLongestPlaceholder = 48;  // of words

int base64_digit(char c) {
  if (is_upper(c)) return c - 'A';
  if (is_lower(c)) return c - 'a' + 26;
  if (is_digit(c)) return c - '0' + 52;
  if (c == '+' || c == '-') return 62;
  if (c == '/' || c == '_') return 63;
  return -1;
}

// As much as can be decoded, either alphabet.
std::string decoded(std::string_view text) {
  std::string bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const int digit = base64_digit(c);
    if (digit < 0) break;
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes.push_back(static_cast<char>(bits >> count & 0xFF));
    }
  }
  return bytes;
}

}  // namespace

bool passes_luhn(std::string_view number) {
  int sum = 0;
  bool twice = false;
  for (std::size_t i = number.size(); i-- > 0;) {
    if (!is_digit(number[i])) continue;
    const int digit = (number[i] - '0') * (twice ? 2 : 1);
    sum += digit > 9 ? digit - 9 : digit;
    twice = !twice;
  }
  return sum % 10 == 0;
}

bool has_entropy(std::string_view text, double bits) {
  static const auto kLog2 = [] {
    std::array<double, 256> logs{};
    for (std::size_t i = 1; i < logs.size(); ++i)
      logs[i] = std::log2(static_cast<double>(i));
    return logs;
  }();
  if (text.empty()) return bits <= 0;
  text = text.substr(0, kLog2.size() - 1);  // what is longer is told by its beginning
  std::array<std::uint8_t, 256> counts{};
  std::size_t different = 0;
  for (const char c : text)
    different += counts[static_cast<unsigned char>(c)]++ == 0 ? 1 : 0;
  // No text has more than one in which all characters are equally often: few need the sum.
  constexpr double kRounding = 1e-6;
  if (kLog2[different] + kRounding < bits) return false;
  double sum = 0;
  for (const char c : text)
    sum += kLog2[counts[static_cast<unsigned char>(c)]];
  return kLog2[text.size()] - sum / static_cast<double>(text.size()) >= bits;
}

bool is_mixed(std::string_view text) {
  std::array<bool, 256> seen{};
  int different = 0;
  bool digit = false, letter = false;
  for (const char c : text) {
    bool& known = seen[static_cast<unsigned char>(c)];
    if (!known) ++different;
    known = true;
    digit = digit || is_digit(c);
    letter = letter || is_letter(c);
    if (digit && letter && different >= 6) return true;
  }
  return false;
}

bool is_jwt_header(std::string_view text) {
  const std::string header = decoded(text);
  return header.starts_with("{") && header.ends_with("}") && header.contains('"') &&
         (header.contains("\"alg\"") || header.contains("\"typ\"") || header.contains("\"enc\"") ||
          header.contains("\"kid\""));
}

bool decodes_to_private_key(std::string_view text) {
  return decoded(text.substr(0, 96)).contains("PRIVATE KEY");
}

bool is_placeholder(std::string_view value, const Makeup& makeup) {
  if (value.empty()) return true;
  const char first = value.front();
  const char second = value.size() > 1 ? value[1] : '\0';
  if (first == '<' || first == '{' || first == '[') return true;
  if ((first == '$' && (second == '(' || second == '{')) || (first == '#' && second == '{'))
    return true;
  if (value.starts_with("***") || value.starts_with("...")) return true;
  if (first == '$' || first == '%') {
    // $NAME and %NAME%, but not a password that begins so.
    std::string_view name = value.substr(1);
    if (first == '%' && name.ends_with('%')) name.remove_suffix(1);
    if (!name.empty() && !is_digit(name[0]) && std::ranges::all_of(name, [](char c) {
          return is_upper(c) || is_digit(c) || c == '_' || c == ':';
        }))
      return true;
  }
  if (std::ranges::all_of(value, [first](char c) { return c == first; }) && !is_alnum(first))
    return true;
  if (std::ranges::all_of(value, [](char c) { return c == 'x' || c == 'X' || c == '-'; }))
    return true;
  // Words, not values; a digit says that somebody has filled it in.
  return value.size() <= kLongestPlaceholder && !makeup.has(made_of::kDigit) &&
         has_placeholder(value, makeup);
}

bool is_placeholder(std::string_view value) {
  const bool may_be_word = value.size() <= kLongestPlaceholder;
  return is_placeholder(value, may_be_word ? makeup_of(value) : Makeup{});
}

}  // namespace sallyport
