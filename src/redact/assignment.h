// Values that a name in front of them calls secret: NAME=value, "name": "value", name: value,
// <name>value</name>, --name value, name("value").
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "redact/sight.h"

namespace sallyport {

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

// The value that the name at the anchor is given; none if the text is not of such a form.
[[nodiscard]] std::optional<Assigned> assigned_value(const Sight& sight);

// Whether a value looks like a secret, given its name's kind (check::kPassword, check::kStrong);
// not what a program or a person writes where no secret stands: a type, a placeholder, a call, a
// path, a sentence.
[[nodiscard]] bool looks_secret(const Assigned& assigned, std::string_view value, unsigned checks);

}  // namespace sallyport
