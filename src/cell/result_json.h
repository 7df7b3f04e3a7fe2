// The result of a call as JSON: one shape for the command line, HTTP and MCP.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <string>
#include <vector>

#include "sallyport/outcome.h"

namespace sallyport {

[[nodiscard]] boost::json::array network_array(const std::vector<NetworkEvent>& events);
[[nodiscard]] boost::json::object result_object(const Outcome& outcome);

// The same as text: one object, without a line end. Text that is not UTF-8 is replaced, so the
// result always parses.
std::string result_json(const Outcome& outcome);

}  // namespace sallyport
