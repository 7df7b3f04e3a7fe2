#include "redact/clean_text.h"

#include <algorithm>

#include "base/text.h"

namespace sallyport {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr char32_t kEscape = 0x1B, kBell = 0x07, kStringEnd = 0x9C;

// A sequence longer than these is none: a stray ESC must not swallow the text behind it.
constexpr std::size_t kLongestControl = 64, kLongestString = 4096;

constexpr bool is_invisible(char32_t code) {
  struct Range {
    char32_t first, last;
  };
  constexpr Range kRanges[] = {
      {0xAD, 0xAD},     {0x34F, 0x34F},   {0x61C, 0x61C},     {0x115F, 0x1160},
      {0x17B4, 0x17B5}, {0x180B, 0x180F}, {0x200B, 0x200F},   {0x202A, 0x202E},
      {0x2060, 0x206F}, {0x3164, 0x3164}, {0xFE00, 0xFE0F},   {0xFEFF, 0xFEFF},
      {0xFFA0, 0xFFA0}, {0xFFF9, 0xFFFB}, {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF},
  };
  return std::ranges::any_of(
      kRanges, [code](Range range) { return range.first <= code && code <= range.last; });
}

// [U+200B]
std::string number_of(char32_t code) {
  std::string digits;
  for (auto rest = static_cast<std::uint32_t>(code); rest != 0 || digits.size() < 4; rest >>= 4)
    digits.insert(digits.begin(), "0123456789ABCDEF"[rest & 0xF]);
  return "[U+" + digits + "]";
}

constexpr bool is_control(char32_t code) {
  return code < 0x20 || (code >= 0x7F && code <= 0x9F);
}

constexpr bool is_plain(char c) {
  return (c >= 0x20 && c < 0x7F) || c == '\n' || c == '\t';
}

}  // namespace

void CleanText::take_text(char32_t code, std::string_view bytes, std::string& out) {
  if (return_held_) out.append(code == '\n' ? "\r" : "\n");
  return_held_ = code == '\r';
  if (return_held_) return;
  const bool plain = code == '\n' || code == '\t' || (!is_control(code) && !is_invisible(code));
  if (code == 0x2028 || code == 0x2029) {
    out.push_back('\n');
  } else if (code == kEscape) {
    ++counts_.escapes;
    within_ = Within::escape;
    length_ = 0;
  } else if (code == 0x9B) {
    ++counts_.escapes;
    within_ = Within::control;
    length_ = 0;
  } else if (code == 0x90 || code == 0x98 || (code >= 0x9D && code <= 0x9F)) {
    ++counts_.escapes;
    within_ = Within::string;
    length_ = 0;
  } else if (plain) {
    out.append(bytes);
  } else if (is_control(code)) {
    ++counts_.controls;
  } else {
    ++counts_.invisible;
    if (invisible_ == Invisible::shown) out.append(number_of(code));
  }
}

void CleanText::take(char32_t code, std::string_view bytes, std::string& out) {
  ++length_;
  switch (within_) {
    case Within::text:
      break;
    case Within::escape:
      if (code == '[') {
        within_ = Within::control;
        return;
      }
      if (code == ']' || code == 'P' || code == 'X' || code == '^' || code == '_') {
        within_ = Within::string;
        return;
      }
      if (code >= 0x20 && code <= 0x2F && length_ < kLongestControl) return;
      within_ = Within::text;
      if (code >= 0x30 && code <= 0x7E) return;
      break;
    case Within::control:
      if (code >= 0x20 && code <= 0x3F && length_ < kLongestControl) return;
      within_ = Within::text;
      if (code >= 0x40 && code <= 0x7E) return;
      break;
    case Within::string:
      if (code == kBell || code == kStringEnd || length_ > kLongestString) {
        within_ = Within::text;
        return;
      }
      if (code == kEscape) {
        within_ = Within::string_escape;
        return;
      }
      // No terminal goes on behind the end of the line, and what is there must be seen.
      if (code != '\n' && code != '\r') return;
      within_ = Within::text;
      break;
    case Within::string_escape:
      within_ = Within::text;
      if (code == '\\') return;
      // A new sequence begins instead.
      ++counts_.escapes;
      within_ = Within::escape;
      length_ = 0;
      take(code, bytes, out);
      return;
  }
  take_text(code, bytes, out);
}

void CleanText::feed(std::string_view bytes, std::string& out) {
  while (!bytes.empty()) {
    if (pending_.empty() && within_ == Within::text) {
      const auto end = std::ranges::find_if_not(bytes, is_plain);
      const auto count = static_cast<std::size_t>(end - bytes.begin());
      if (count > 0) {
        // The first says what a CR before it is.
        take_text(static_cast<unsigned char>(bytes[0]), bytes.substr(0, 1), out);
        out.append(bytes.substr(1, count - 1));
        bytes.remove_prefix(count);
        continue;
      }
    }
    const bool held = !pending_.empty();
    if (held) {
      pending_.push_back(bytes[0]);
      bytes.remove_prefix(1);
    }
    const std::string_view text = held ? std::string_view(pending_) : bytes;
    const Utf8Char c = first_utf8_char(text);
    if (c.cut_off) {
      if (!held) {
        pending_ = bytes;
        return;
      }
      continue;
    }
    const std::string character(text.substr(0, c.length));
    if (held) {
      // Of what is held only the last byte can be outside of the character.
      const std::string rest = pending_.substr(c.length);
      pending_.clear();
      if (!c.valid) ++counts_.invalid;
      take(c.code, c.valid ? std::string_view(character) : kReplacement, out);
      if (!rest.empty()) feed(rest, out);
      continue;
    }
    bytes.remove_prefix(c.length);
    if (!c.valid) ++counts_.invalid;
    take(c.code, c.valid ? std::string_view(character) : kReplacement, out);
  }
}

void CleanText::finish(std::string& out) {
  if (!pending_.empty()) {
    ++counts_.invalid;
    take(0xFFFD, kReplacement, out);
    pending_.clear();
  }
  if (return_held_) out.push_back('\n');
  return_held_ = false;
}

std::string without_numbers(std::string_view text) {
  constexpr std::string_view kBegin = "[U+";
  std::string out;
  while (true) {
    const std::size_t begin = text.find(kBegin);
    out.append(text.substr(0, begin));
    if (begin == std::string_view::npos) return out;
    text.remove_prefix(begin);
    const std::size_t end = text.find_first_not_of("0123456789ABCDEF", kBegin.size());
    const bool number = end != std::string_view::npos && text[end] == ']' &&
                        end >= kBegin.size() + 4 && end <= kBegin.size() + 6;
    if (!number) out.append(kBegin);
    text.remove_prefix(number ? end + 1 : kBegin.size());
  }
}

std::string clean_text(std::string_view bytes, CleanCounts* counts, Invisible invisible) {
  CleanText cleaner(invisible);
  std::string out;
  out.reserve(bytes.size());
  cleaner.feed(bytes, out);
  cleaner.finish(out);
  if (counts != nullptr) *counts = cleaner.counts();
  return out;
}

}  // namespace sallyport
