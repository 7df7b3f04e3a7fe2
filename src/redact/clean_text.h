// Text without what a terminal obeys, an editor hides and a model reads though nobody sees it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sallyport {

struct CleanCounts {
  std::uint64_t escapes = 0;    // sequences of ANSI terminals, whole ones and beginnings
  std::uint64_t controls = 0;   // C0 but tab and newline, C1, DEL
  std::uint64_t invisible = 0;  // bidi, zero-width, tags, variation selectors, soft hyphens
  std::uint64_t invalid = 0;    // runs of bytes that are not UTF-8

  [[nodiscard]] std::uint64_t total() const { return escapes + controls + invisible + invalid; }
  bool operator==(const CleanCounts&) const = default;
};

// What becomes of a character that nobody sees: it is removed, or its number is shown instead,
// [U+200B].
enum class Invisible : std::uint8_t { removed, shown };

// A stream of bytes as valid UTF-8 of visible characters, tabs and newlines. CR LF stays what it
// is: a file that is read has to be found again as it was. A CR alone becomes a newline, as it
// would let a line be written over. What is not UTF-8 becomes U+FFFD. All else of the above is
// removed. What comes out does not depend on how the bytes were cut into pieces. It comes before
// redaction: a secret with an invisible character in it is one all the same.
class CleanText {
 public:
  explicit CleanText(Invisible invisible = Invisible::removed) : invisible_(invisible) {}

  // Appends to `out` what is known so far; at most 4 bytes are held back.
  void feed(std::string_view bytes, std::string& out);

  // Appends the rest.
  void finish(std::string& out);

  [[nodiscard]] const CleanCounts& counts() const { return counts_; }

 private:
  // Where within an escape sequence the text is.
  enum class Within : std::uint8_t { text, escape, control, string, string_escape };

  void take(char32_t code, std::string_view bytes, std::string& out);
  void take_text(char32_t code, std::string_view bytes, std::string& out);

  CleanCounts counts_;
  std::string pending_;  // the beginning of a character
  Within within_ = Within::text;
  std::size_t length_ = 0;    // of the sequence so far
  bool return_held_ = false;  // what follows a CR says what it is
  Invisible invisible_;
};

[[nodiscard]] std::string clean_text(std::string_view bytes, CleanCounts* counts = nullptr,
                                     Invisible invisible = Invisible::removed);

// The text without the numbers of invisible characters: what is looked for in it must not hide
// behind them either.
[[nodiscard]] std::string without_numbers(std::string_view text);

}  // namespace sallyport
