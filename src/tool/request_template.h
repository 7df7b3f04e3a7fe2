// The request of an `http` tool: the policy's template filled with the values of a call.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "policy/rules.h"

namespace sallyport {

struct FilledRequest {
  std::string url;  // normal
  std::vector<std::pair<std::string, std::string>> headers;
  std::optional<std::string> body;  // canonical JSON
};

// In the path, a value is percent-encoded as a part of one component, and may be neither empty nor
// make "." or ".."; in the query it is encoded as a value. In a header it is one line of ASCII. In
// the body, a string that is a placeholder and nothing else becomes the value itself, with its
// type; within a longer string it is text. {arguments} is all of them as one JSON object.
//
// An optional argument that is missing leaves out the pair of the query, the header, the member or
// the item that is its placeholder; elsewhere it is refused. No value changes scheme, host or port.
[[nodiscard]] Result<FilledRequest> fill_request(const Tool& tool, const json::object& arguments);

}  // namespace sallyport
