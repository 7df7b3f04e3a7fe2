// A value against a compiled schema.
#pragma once

#include <vector>

#include "input/schema.h"
#include "input/schema_program.h"

namespace sallyport {

// Whether the value is accepted; what cannot be evaluated within the program's bounds is not.
[[nodiscard]] bool accepts_value(const SchemaProgram& program, const json::value& instance);
[[nodiscard]] bool surely_refuses_value(const SchemaProgram& program, const json::value& instance);

// What is wrong with it; never empty for a value that is not accepted.
[[nodiscard]] std::vector<Violation> find_violations(const SchemaProgram& program,
                                                     const json::value& instance);

}  // namespace sallyport
