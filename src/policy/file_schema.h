// What the tables of the loader publish: the JSON Schema of the policy file, for editors, and the
// reference, for people.
#pragma once

#include <string>

#include "base/json.h"

namespace sallyport {

// JSON Schema 2020-12 of the file. What it accepts may still be refused by the loader, which knows
// units, names and what goes together.
[[nodiscard]] json::object policy_file_schema();

// docs/policy-reference.md, as Markdown.
[[nodiscard]] std::string policy_reference();

}  // namespace sallyport
