#include "input/string_value.h"

#include <algorithm>

#include "base/text.h"

namespace sallyport {
namespace {

struct Range {
  char32_t first, last;
  std::string_view what;
};

// Never part of a text that a person wrote to be read. The flags of England, Scotland and Wales are
// made of tags and are the price of refusing them.
constexpr Range kNever[] = {
    {0x00, 0x00, "a NUL"},
    {0x01, 0x1F, "a control character"},
    {0x7F, 0x9F, "a control character"},
    {0xAD, 0xAD, "a soft hyphen"},
    {0x34F, 0x34F, "an invisible character"},
    {0x115F, 0x1160, "an invisible filler"},
    {0x17B4, 0x17B5, "an invisible character"},
    {0x180B, 0x180F, "an invisible character"},
    {0x200B, 0x200B, "a zero-width space"},
    {0x2028, 0x2029, "a Unicode line separator"},
    {0x202A, 0x202E, "a bidirectional override"},
    {0x2060, 0x2065, "an invisible character"},
    {0x2066, 0x2069, "a bidirectional isolate"},
    {0x206A, 0x206F, "an invisible character"},
    {0x3164, 0x3164, "an invisible filler"},
    {0xFDD0, 0xFDEF, "a non-character"},
    {0xFEFF, 0xFEFF, "a byte order mark"},
    {0xFFA0, 0xFFA0, "an invisible filler"},
    {0xFFF0, 0xFFFB, "an invisible character"},
    {0x1BCA0, 0x1BCA3, "an invisible character"},
    {0x1D173, 0x1D17A, "an invisible character"},
    {0xE0000, 0xE00FF, "an invisible tag character"},
    {0xE01F0, 0xE0FFF, "an invisible character"},
};

std::optional<std::string_view> never(char32_t code) {
  if ((code & 0xFFFE) == 0xFFFE) return "a non-character";
  const auto* range = std::ranges::find_if(
      kNever, [code](const Range& r) { return r.first <= code && code <= r.last; });
  if (range == std::end(kNever)) return std::nullopt;
  return range->what;
}

// Zero-width (non-)joiners, as in emoji and Persian, and the marks of right-to-left writing.
constexpr bool is_joiner_or_mark(char32_t code) {
  return (code >= 0x200C && code <= 0x200F) || code == 0x61C;
}

// Chooses a form of the character before it; 256 of them in a run spell any bytes.
constexpr bool is_variation_selector(char32_t code) {
  return (code >= 0xFE00 && code <= 0xFE0F) || (code >= 0xE0100 && code <= 0xE01EF);
}

bool is_layout(char32_t code, std::string_view rest, Layout layout) {
  if (code == '\t') return layout != Layout::one_word;
  if (layout != Layout::many_lines) return false;
  return code == '\n' || (code == '\r' && rest.starts_with("\r\n"));
}

std::size_t count_characters(std::string_view utf8) {
  return static_cast<std::size_t>(std::ranges::count_if(
      utf8, [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }));
}

}  // namespace

std::optional<std::string> unfit_character(std::string_view text, Layout layout) {
  enum class Before { visible, selector, joiner } before = Before::visible;
  std::size_t position = 0;
  const auto found = [&position](std::string_view what) {
    return std::string("holds ").append(what).append(" at character " + std::to_string(position));
  };
  for (std::string_view rest = text; !rest.empty();) {
    ++position;
    const Utf8Char c = first_utf8_char(rest);
    if (!c.valid) return found("bytes that are not UTF-8");
    if (is_variation_selector(c.code)) {
      if (before != Before::visible || position == 1) return found("a run of invisible characters");
      before = Before::selector;
    } else if (is_joiner_or_mark(c.code)) {
      if (before == Before::joiner) return found("a run of invisible characters");
      before = Before::joiner;
    } else {
      if (!is_layout(c.code, rest, layout)) {
        if (c.code == '\n' || c.code == '\r') return found("a line break");
        if (const auto what = never(c.code)) return found(*what);
      }
      before = Before::visible;
    }
    rest.remove_prefix(c.length);
  }
  return std::nullopt;
}

Result<std::string> parse_string_value(std::string_view text, const StringRules& rules) {
  // A character has at most four bytes: a flood is refused before it is read.
  if (text.size() / 4 > rules.max_length)
    return fail(Reason::argument,
                "the text of " + std::to_string(text.size()) + " bytes is too long",
                "at most " + std::to_string(rules.max_length) + " characters are allowed");
  if (const auto unfit =
          unfit_character(text, rules.multiline ? Layout::many_lines : Layout::one_line))
    return fail(Reason::argument, "the text " + quoted(text) + " " + *unfit,
                rules.multiline ? "give plain UTF-8 text; tabs and line breaks are allowed"
                                : "give one line of plain UTF-8 text; tabs are allowed");
  const std::size_t length = count_characters(text);
  if (length > rules.max_length)
    return fail(Reason::argument,
                "the text of " + std::to_string(length) + " characters is too long",
                "at most " + std::to_string(rules.max_length) + " characters are allowed");
  if (length < rules.min_length)
    return fail(Reason::argument,
                "the text of " + std::to_string(length) + " characters is too short",
                "at least " + std::to_string(rules.min_length) + " characters are needed");
  return std::string(text);
}

}  // namespace sallyport
