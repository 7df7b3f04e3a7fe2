// Arguments in words: "a whole number from 1 to 500".
#pragma once

#include <string>

#include "policy/rules.h"

namespace sallyport {

// What a value that the schema accepts is. A schema with more in it than a sentence can say is
// quoted as it is.
[[nodiscard]] std::string schema_sentence(const json::object& schema);

// What the caller may give for the argument, and whether it has to.
[[nodiscard]] std::string argument_sentence(const Argument& argument);

}  // namespace sallyport
