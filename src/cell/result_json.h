// The result of a call as JSON: one shape for the command line, HTTP and MCP.
#pragma once

#include <string>

#include "cell/outcome.h"

namespace sallyport {

// One object, without a line end. Text that is not UTF-8 is replaced, so the result always parses.
std::string result_json(const Outcome& outcome);

}  // namespace sallyport
