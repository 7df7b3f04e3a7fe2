// The key of a member of JSON. Those that stand in the program have been looked at when it was
// compiled, and are written as they are.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sallyport {

// The order of keys in canonical JSON. Nearly always the first characters decide.
[[nodiscard]] constexpr bool stands_before(std::string_view a, std::string_view b) {
  if (!a.empty() && !b.empty() && a.front() != b.front())
    return static_cast<unsigned char>(a.front()) < static_cast<unsigned char>(b.front());
  return a < b;
}

class JsonKey {
 public:
  template <std::size_t kSize>
  explicit(false) consteval JsonKey(const char (&literal)[kSize]) : text_(literal, kSize - 1) {
    if (!is_plain(text_)) throw "a key of the program has nothing that is escaped";
  }
  // Of one that is known at run time only, and has to outlive this.
  [[nodiscard]] static constexpr JsonKey of(std::string_view text) {
    return JsonKey(text, is_plain(text));
  }

  [[nodiscard]] constexpr std::string_view text() const { return text_; }
  // Nothing in it is escaped, and all of it is ASCII.
  [[nodiscard]] constexpr bool is_plain() const { return plain_; }

  // Appends a plain one with its quotes and the colon, behind a comma unless it is the first.
  // Always inline: one that stands in the program is then copied as the few words that it is, and a
  // call has a hundred of them.
  [[gnu::always_inline]] void append_to(std::string& out, bool first) const {
    const std::size_t at = out.size() + (first ? 0 : 1), end = at + text_.size() + 3;
    [[clang::always_inline]] out.resize_and_overwrite(end, [&](char* bytes, std::size_t) {
      if (!first) bytes[at - 1] = ',';
      bytes[at] = bytes[end - 2] = '"';
      bytes[end - 1] = ':';
      text_.copy(bytes + at + 1, text_.size());
      return end;
    });
  }

 private:
  constexpr JsonKey(std::string_view text, bool plain) : text_(text), plain_(plain) {}
  [[nodiscard]] static constexpr bool is_plain(std::string_view text) {
    for (const char c : text)
      if (c < 0x20 || c == 0x7f || c == '"' || c == '\\') return false;
    return true;
  }

  std::string_view text_;
  bool plain_ = true;
};

}  // namespace sallyport
