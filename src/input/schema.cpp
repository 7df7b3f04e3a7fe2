#include "input/schema.h"

#include "input/schema_check.h"
#include "input/schema_compile.h"

namespace sallyport {

Result<Schema> Schema::compile(const json::value& schema, const SchemaOptions& options) try {
  auto program = compile_schema(schema, options);
  if (!program) return std::unexpected(std::move(program.error()));
  return Schema(std::move(*program));
} catch (const std::exception& error) {
  return fail(Reason::internal, std::string("the schema cannot be compiled: ") + error.what());
}

std::vector<Violation> Schema::check(const json::value& instance) const {
  return find_violations(*program_, instance);
}

bool Schema::accepts(const json::value& instance) const {
  return accepts_value(*program_, instance);
}

bool Schema::surely_refuses(const json::value& instance) const {
  return surely_refuses_value(*program_, instance);
}

}  // namespace sallyport
