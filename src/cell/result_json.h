// The result of a call as JSON: one shape for the command line, HTTP and MCP.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/object_text.h"
#include "sallyport/outcome.h"

namespace sallyport {

// One object, without a line end. Text that is not UTF-8 is replaced, so the result always parses.
[[nodiscard]] std::string result_json(const Outcome& outcome);

// What it asked of the network, as a list of objects.
[[nodiscard]] json::array network_array(const std::vector<NetworkEvent>& events);

// Adds the members of the above to an object that will have others too. Artifacts whose contents
// are in `collected`, by their name, show them.
void add_outcome(ObjectText& object, const Outcome& outcome, std::string_view tier,
                 const std::map<std::string, std::string>& collected);

}  // namespace sallyport
