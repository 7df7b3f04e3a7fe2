// The metaschemas of JSON Schema 2020-12, within the program: a schema is checked against them, and
// a
// `$ref` may name them, without anything being fetched.
#pragma once

#include <string_view>

#include "base/json.h"

namespace sallyport {

inline constexpr std::string_view kDraft202012 = "https://json-schema.org/draft/2020-12/schema";

// The document at `uri` (without a fragment), or null.
[[nodiscard]] const json::value* find_metaschema(std::string_view uri);

}  // namespace sallyport
