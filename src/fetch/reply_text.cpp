#include "fetch/reply_text.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/parse.h"
#include "base/text.h"
#include "http/characters.h"

namespace sallyport {
namespace {

// 0x80 to 0x9F of Windows-1252; the rest of it is Latin-1.
constexpr std::array<std::string_view, 32> kWindows = {
    "€", "\uFFFD", "‚",      "ƒ", "„",      "…",      "†", "‡",      "ˆ", "‰", "Š",
    "‹", "Œ",      "\uFFFD", "Ž", "\uFFFD", "\uFFFD", "‘", "’",      "“", "”", "•",
    "–", "—",      "˜",      "™", "š",      "›",      "œ", "\uFFFD", "ž", "Ÿ"};

std::string from_windows(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size() + bytes.size() / 8);
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      text.push_back(c);
    } else if (byte < 0xA0) {
      text.append(kWindows[byte - 0x80]);
    } else {
      text.push_back(static_cast<char>(0xC0 | byte >> 6));
      text.push_back(static_cast<char>(0x80 | (byte & 0x3F)));
    }
  }
  return text;
}

std::string lower(std::string_view text) {
  std::string small(text);
  std::ranges::transform(small, small.begin(), lower_char);
  return small;
}

std::string charset_of(std::string_view content_type) {
  take(content_type, ';');
  while (!content_type.empty()) {
    std::string_view parameter = without_spaces(take(content_type, ';'));
    const std::string name = lower(without_spaces(take(parameter, '=')));
    if (name != "charset") continue;
    std::string value = lower(without_spaces(parameter));
    std::erase(value, '"');
    return value;
  }
  return {};
}

}  // namespace

std::string media_type(std::string_view content_type) {
  return lower(without_spaces(take(content_type, ';')));
}

std::string_view whole_characters(std::string_view bytes) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(bytes.size(), 3); ++back) {
    const std::string_view tail = bytes.substr(bytes.size() - back);
    if ((static_cast<unsigned char>(tail[0]) & 0xC0) == 0x80) continue;
    return first_utf8_char(tail).cut_off ? bytes.substr(0, bytes.size() - back) : bytes;
  }
  return bytes;
}

std::optional<std::string> text_of_reply(std::string_view body, std::string_view content_type,
                                         bool cut) {
  if (body.contains('\0')) return std::nullopt;
  const std::string_view whole = cut ? whole_characters(body) : body;
  if (is_utf8(whole)) {
    constexpr std::string_view kMark = "\xEF\xBB\xBF";
    return std::string(whole.starts_with(kMark) ? whole.substr(kMark.size()) : whole);
  }
  constexpr std::string_view kLatin[] = {"iso-8859-1", "latin1",       "iso8859-1", "us-ascii",
                                         "ascii",      "windows-1252", "cp1252"};
  const std::string charset = charset_of(content_type);
  const bool latin = charset.empty() ? media_type(content_type).starts_with("text/")
                                     : std::ranges::find(kLatin, charset) != std::end(kLatin);
  return latin ? std::optional(from_windows(body)) : std::nullopt;
}

}  // namespace sallyport
