// Globs over relative paths.
//
//   *      any run of characters within one component, also none; a leading dot is not special
//   **     any run of characters, '/' included; the component "**" also stands for no component
//   ?      one character other than '/'
//   [a-z]  one character of a set, never '/'; [!a-z] or [^a-z] is one outside it
//   \c     the character c itself
//
// A character is one of UTF-8; a byte that is not UTF-8 is a character of its own. Matching takes
// time proportional to the length of the glob times the length of the path, whatever they hold:
// globs meet names that a hostile tool chose.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace sallyport {

class Glob {
 public:
  // An error says which part of the glob is wrong. A glob that could match nothing below a
  // directory (empty, absolute, with "." or ".." as a component) is an error too.
  [[nodiscard]] static Result<Glob> parse(std::string_view text);

  // `path` is relative and regular: components without "." and "..", one '/' between them.
  [[nodiscard]] bool matches(std::string_view path) const;

 private:
  enum class Kind {
    character,
    any_character,
    set,
    run,  // of characters other than '/'
    run_with_slashes,
    maybe_directories,  // the next two tokens, run_with_slashes and '/', may be left out
  };
  struct Token {
    Kind kind = Kind::character;
    char32_t character = 0;
    bool negated = false;
    std::vector<std::pair<char32_t, char32_t>> ranges = {};
  };

  Glob() = default;
  static Result<Token> parse_set(std::u32string_view& rest, std::string_view text);
  static bool accepts(const Token& token, char32_t c);

  std::vector<Token> tokens_;
};

}  // namespace sallyport
