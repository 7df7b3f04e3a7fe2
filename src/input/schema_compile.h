// From the text of a schema to its program.
#pragma once

#include <memory>

#include "base/error.h"
#include "input/schema.h"
#include "input/schema_program.h"

namespace sallyport {

// As Schema::compile.
[[nodiscard]] Result<std::shared_ptr<const SchemaProgram>> compile_schema(
    const json::value& schema, const SchemaOptions& options);

}  // namespace sallyport
