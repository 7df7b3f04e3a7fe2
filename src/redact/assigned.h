// A value that a name in front of it is given, and what is remembered of the last such name.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "redact/makeup.h"

namespace sallyport {

// A part of a text, as indices into it.
struct Found {
  std::size_t begin = 0, end = 0;
};

struct Assigned {
  enum class By : std::uint8_t { equals, colon, compare, call, comma, flag, tag, word, blank };

  Found value;
  std::string_view name;    // all of the name, as far as it is of one word
  std::string_view behind;  // what follows the anchor's word in it
  By by = By::equals;
  bool quoted = false;       // the value is in quotes
  bool spaced = false;       // blanks around the sign
  bool ends_line = false;    // nothing else on the line
  bool begins_line = false;  // nothing but a sign of a list before the name
};

// What was read of a name and of the sign behind it. Many anchors may lie within one name, and what
// follows is the same for all of them.
struct SeenName {
  Found name;
  std::size_t word_end = 0;   // of its first word: some names have two
  std::size_t signs_end = 0;  // of quotes, brackets and stars behind it
  std::size_t depends = 0;    // on so much of the text; 0: nothing is known

  // No value: none is given. The end of the value and views of the text are those of the last look.
  Assigned assigned;
  bool env_line = false;
  Found quote;                   // that begins the value, if it is quoted
  std::size_t quote_search = 0;  // the quote that ends it does not stand before this

  // Of the value as a secret, by the kind of the name; of a value of this length.
  std::array<std::optional<bool>, 3> verdicts;
  std::size_t judged = 0;
  bool judged_ends_line = false;
  Makeup makeup;
};

}  // namespace sallyport
