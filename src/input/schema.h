// JSON Schema 2020-12: what arguments and results must look like.
//
// A schema is compiled once and then checks any number of values, from any thread. Nothing is ever
// fetched: a `$ref` reaches the schema itself, the documents that were given with it, and the
// metaschemas of 2020-12. `format` and `content*` are annotations and check nothing. Whatever
// cannot be evaluated within its bounds is refused, never accepted.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace sallyport {

// A document that a `$ref` or a `$schema` may reach besides the schema itself.
struct SchemaDocument {
  std::string uri;  // without a fragment
  json::value value;
};

struct SchemaOptions {
  std::vector<SchemaDocument> documents;
  unsigned max_depth = 64;  // of arrays and objects within each other, in schema and value
  std::uint64_t max_steps = 1'000'000;  // of one check: subschemas entered, values looked at
};

// One thing that is wrong with a value.
struct Violation {
  std::string
      instance_place;        // a JSON pointer into the value, long keys shortened; "" is all of it
  std::string schema_place;  // the keyword that refuses, as "#/properties/a/type" or "uri#/…"
  std::string message;       // "must be a string, and is an integer"
};

struct SchemaProgram;

class Schema {
 public:
  // Refuses a schema that its metaschema refuses, a dialect other than 2020-12 (or one built on it,
  // from the documents), a reference that leads nowhere, and a pattern that RE2 cannot match. The
  // error names the place as a JSON pointer.
  [[nodiscard]] static Result<Schema> compile(const json::value& schema,
                                              const SchemaOptions& options = {});

  // What is wrong with the value, in the order of the schema, at most 64 of them; empty: nothing.
  [[nodiscard]] std::vector<Violation> check(const json::value& instance) const;

  // Whether check() finds nothing; does not build any text.
  [[nodiscard]] bool accepts(const json::value& instance) const;

  // Whether the value is refused for certain. Not the opposite of accepts(): a value that cannot be
  // evaluated within its bounds is neither. For rules that let go of something when the schema
  // refuses.
  [[nodiscard]] bool surely_refuses(const json::value& instance) const;

 private:
  explicit Schema(std::shared_ptr<const SchemaProgram> program) : program_(std::move(program)) {}

  std::shared_ptr<const SchemaProgram> program_;
};

}  // namespace sallyport
