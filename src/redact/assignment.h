// Values that a name in front of them calls secret: NAME=value, "name": "value", name: value,
// <name>value</name>, --name value, name("value").
#pragma once

#include "redact/assigned.h"
#include "redact/sight.h"

namespace sallyport {

// The value that the name at the anchor is given; null if the text is not of such a form. What is
// pointed to is part of what is remembered of the name.
[[nodiscard]] const Assigned* assigned_value(const Sight& sight);

constexpr bool is_name(char c) {
  return is_alnum(c) || c == '_' || c == '-' || c == '.';
}
inline constexpr CharClass kName{table_of(is_name), run_of::kName};

// What may follow a part of a name if it is given a value: more of the name, or what a value is
// given with.
inline constexpr CharTable kBehindName = table_of([](char c) {
  return is_name(c) || is_quote(c) || is_blank(c) || std::string_view("\\]*=!:>(").contains(c);
});

// Whether the value that assigned_value() has just found looks like a secret, given its name's kind
// (check::kPassword, check::kStrong); not what a program or a person writes where no secret stands:
// a type, a placeholder, a call, a path, a sentence.
[[nodiscard]] bool looks_secret(const Sight& sight, const Assigned& assigned, unsigned checks);

}  // namespace sallyport
