// From a call of http_fetch, or of an `http` tool, to the order for it.
#pragma once

#include <expected>

#include "fetch/order.h"
#include "policy/rules.h"
#include "tool/cell_call.h"

namespace sallyport {

[[nodiscard]] bool is_http_fetch(const Tool& tool);

// Whether the tool is a request that our own program makes.
[[nodiscard]] inline bool makes_request(const Tool& tool) {
  return tool.kind == ToolKind::http || is_http_fetch(tool);
}

struct FetchFault {
  Error error;
  std::string key;  // below tools.NAME: the rule that refused
};

// Method, URL, headers and body of the request that a call asks for. What the tool may not reach is
// refused here already, with what it may; it is the egress process that holds it to that.
[[nodiscard]] std::expected<FetchOrder, FetchFault> make_request(const Ceiling& ceiling,
                                                                 const Tool& tool,
                                                                 const json::object& arguments);

// With the limits of the call.
[[nodiscard]] Result<FetchOrder> make_fetch_order(const ToolCall& call);

}  // namespace sallyport
