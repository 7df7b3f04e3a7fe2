// The keywords of JSON Schema that may stand in a policy file. A keyword that nobody knows is
// ignored by every validator, and so a misspelt one would be a rule that nobody set.
#pragma once

#include <span>
#include <string_view>

#include "policy/reading.h"

namespace sallyport {

struct SchemaKeyword {
  enum class Holds { value, schema, schemas, named_schemas };
  std::string_view name;
  Holds holds = Holds::value;
  std::string_view about;
};

[[nodiscard]] std::span<const SchemaKeyword> schema_keywords();

// Reports unknown keywords, with the nearest right one, in a schema and the schemas within it.
void check_schema(const Spot& at);

// The same for one keyword of the schema `at`.
void check_schema_entry(const Spot& at, const Node& key, const Spot& value);

}  // namespace sallyport
