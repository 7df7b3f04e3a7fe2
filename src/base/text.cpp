#include "base/text.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace sallyport {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

std::string hexadecimal(std::uint32_t value, int least_digits) {
  std::string digits;
  for (; value != 0 || static_cast<int>(digits.size()) < least_digits; value >>= 4)
    digits.push_back("0123456789abcdef"[value & 0xF]);
  std::ranges::reverse(digits);
  return digits;
}

// Characters that a terminal or an editor obeys or hides instead of showing: the C0 and C1
// controls, and those with which a file name can be made to look like another one ("Trojan Source",
// CVE-2021-42574).
constexpr bool is_unprintable(char32_t code) {
  struct Range {
    char32_t first, last;
  };
  constexpr Range kRanges[] = {
      {0x00, 0x1F},     {0x7F, 0x9F},     {0xAD, 0xAD},     {0x61C, 0x61C},
      {0x180E, 0x180E}, {0x200B, 0x200F}, {0x2028, 0x202E}, {0x2060, 0x206F},
      {0xFE00, 0xFE0F}, {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB}, {0xE0000, 0xE0FFF},
  };
  return std::ranges::any_of(
      kRanges, [code](Range range) { return range.first <= code && code <= range.last; });
}

// Optimal string alignment: insertions, deletions, changes and swaps of neighbours each count one.
std::size_t slips(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j)
    last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] =
          std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

}  // namespace

Utf8Char first_utf8_char(std::string_view bytes) {
  const auto lead = static_cast<unsigned char>(bytes[0]);
  if (lead < 0x80) return {.code = lead, .length = 1, .valid = true};

  // Table 3-7 of the Unicode standard: only the second byte has a range narrower than 80..BF.
  std::size_t length = 0;
  char32_t code = 0;
  unsigned char low = 0x80, high = 0xBF;
  if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2;
    code = lead & 0x1Fu;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3;
    code = lead & 0x0Fu;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4;
    code = lead & 0x07u;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
  } else {
    return {.code = 0xFFFD, .length = 1};
  }
  for (std::size_t i = 1; i < length; ++i) {
    if (i == bytes.size()) return {.code = 0xFFFD, .length = i, .cut_off = true};
    const auto byte = static_cast<unsigned char>(bytes[i]);
    if (byte < low || byte > high) return {.code = 0xFFFD, .length = i};
    code = code << 6 | (byte & 0x3Fu);
    low = 0x80;
    high = 0xBF;
  }
  return {.code = code, .length = length, .valid = true};
}

bool is_utf8(std::string_view bytes) {
  constexpr std::uint64_t kHighBits = 0x8080808080808080;
  while (!bytes.empty()) {
    std::uint64_t eight = 0, many[4];
    if (bytes.size() >= sizeof(many)) {
      std::memcpy(many, bytes.data(), sizeof(many));
      if (((many[0] | many[1] | many[2] | many[3]) & kHighBits) == 0) {
        bytes.remove_prefix(sizeof(many));
        continue;
      }
    }
    if (bytes.size() >= sizeof(eight)) {
      std::memcpy(&eight, bytes.data(), sizeof(eight));
      if ((eight & kHighBits) == 0) {
        bytes.remove_prefix(sizeof(eight));
        continue;
      }
    }
    if (static_cast<unsigned char>(bytes.front()) < 0x80) {
      bytes.remove_prefix(1);
      continue;
    }
    const Utf8Char c = first_utf8_char(bytes);
    if (!c.valid) return false;
    bytes.remove_prefix(c.length);
  }
  return true;
}

std::string to_utf8(std::string_view bytes) {
  if (is_utf8(bytes)) return std::string(bytes);
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const Utf8Char c = first_utf8_char(bytes);
    text.append(c.valid ? bytes.substr(0, c.length) : kReplacement);
    bytes.remove_prefix(c.length);
  }
  return text;
}

std::string escape_for_terminal(std::string_view text) {
  std::string visible;
  visible.reserve(text.size());
  while (!text.empty()) {
    const Utf8Char c = first_utf8_char(text);
    const std::string_view bytes = text.substr(0, c.length);
    text.remove_prefix(c.length);
    if (!c.valid) {
      for (const char byte : bytes)
        visible.append("\\x").append(hexadecimal(static_cast<unsigned char>(byte), 2));
    } else if (c.code == '\n') {
      visible.append("\\n");
    } else if (c.code == '\t') {
      visible.append("\\t");
    } else if (!is_unprintable(c.code)) {
      visible.append(bytes);
    } else if (c.code < 0x80) {
      visible.append("\\x").append(hexadecimal(c.code, 2));
    } else {
      visible.append("\\u{").append(hexadecimal(c.code, 4)).append("}");
    }
  }
  return visible;
}

std::string quoted(std::string_view text) {
  constexpr std::size_t kLongest = 120;
  std::string_view shown = text;
  if (text.size() > kLongest) {
    std::size_t end = 0;
    while (end + first_utf8_char(text.substr(end)).length <= kLongest)
      end += first_utf8_char(text.substr(end)).length;
    shown = text.substr(0, end);
  }
  std::string result = "'";
  result.append(escape_for_terminal(shown));
  if (shown.size() < text.size()) result.append("...");
  return result.append("'");
}

std::string shell_quote(std::string_view word) {
  // Without '=', which makes an assignment of a first word, and '%' and '~', which name jobs and
  // homes.
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@+:,./-";
  const bool plain = !word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos;
  if (plain) return std::string(word);
  std::string result = "'";
  for (const char c : word) {
    if (c == '\'')
      result.append("'\\''");
    else
      result.push_back(c);
  }
  return result.append("'");
}

std::optional<std::string_view> nearest(std::string_view word,
                                        std::span<const std::string_view> candidates) {
  std::optional<std::string_view> best;
  std::size_t best_slips = 0;
  for (const std::string_view candidate : candidates) {
    const std::size_t allowed = std::max<std::size_t>(1, candidate.size() / 3);
    // Also keeps a hostile word of a megabyte from costing a table of that size.
    if (word.size() > candidate.size() + allowed || candidate.size() > word.size() + allowed)
      continue;
    const std::size_t count = slips(word, candidate);
    // All letters changed is no slip: "x" is not "y".
    if (count > allowed || count >= candidate.size()) continue;
    if (!best || count < best_slips) {
      best = candidate;
      best_slips = count;
    }
  }
  if (best || word.empty()) return best;
  for (const std::string_view candidate : candidates) {
    if (!candidate.starts_with(word)) continue;
    if (best) return std::nullopt;
    best = candidate;
  }
  return best;
}

std::optional<std::string_view> irregular_component(std::string_view path) {
  if (path.starts_with('/')) path.remove_prefix(1);
  while (true) {
    const std::size_t slash = path.find('/');
    const std::string_view component = path.substr(0, slash);
    if (component.empty() || component == "." || component == "..") return component;
    if (slash == std::string_view::npos) return std::nullopt;
    path.remove_prefix(slash + 1);
  }
}

}  // namespace sallyport
