// Text that a caller may hand to a tool. A text is taken as it is or refused, never repaired: what
// is silently removed here would be there again for whoever reads the original.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "sallyport/error.h"

namespace sallyport {

struct StringRules {
  std::size_t min_length = 0;  // in characters, not bytes
  std::size_t max_length = 1000;
  bool multiline = false;  // "\n" and "\r\n" are allowed; a lone "\r" never is
};

// Which of the characters below U+0020 a text may hold.
enum class Layout {
  one_word,   // none
  one_line,   // tab
  many_lines  // tab, "\n" and "\r\n"
};

// The first thing in `text` that makes it unfit, as the end of a sentence ("holds a NUL at
// character 3"), or nothing. Unfit are bytes that are not UTF-8, control characters, and what an
// eye does not see or sees in another order: bidirectional overrides, tags, fillers,
// non-characters. Joiners, direction marks and variation selectors belong to real writing and pass,
// but not in runs, which only hide a message.
[[nodiscard]] std::optional<std::string> unfit_character(std::string_view text, Layout layout);

// `text` itself, if it keeps the rules.
[[nodiscard]] Result<std::string> parse_string_value(std::string_view text,
                                                     const StringRules& rules = {});

}  // namespace sallyport
