// Values that a name in front of them calls secret: NAME=value, "name": "value", name: value,
// <name>value</name>, --name value, name("value").
#pragma once

#include <optional>

#include "redact/assigned.h"
#include "redact/sight.h"

namespace sallyport {

// The value that the name at the anchor is given; none if the text is not of such a form.
[[nodiscard]] std::optional<Assigned> assigned_value(const Sight& sight);

// Whether that may be found at all where an anchor that ends with `last` is followed by `next`.
[[nodiscard]] bool may_assign(char last, char next);

// Whether the value that assigned_value() has just found looks like a secret, given its name's kind
// (check::kPassword, check::kStrong); not what a program or a person writes where no secret stands:
// a type, a placeholder, a call, a path, a sentence.
[[nodiscard]] bool looks_secret(const Sight& sight, const Assigned& assigned, unsigned checks);

}  // namespace sallyport
