// The body of a request for a call, as a CallRequest.
#pragma once

#include <string_view>

#include "base/json.h"
#include "sallyport/call.h"

namespace sallyport {

// {"arguments": {...}, "stdin", "files", "collect", "limits", "dry_run", "idempotency_key"}. What
// is not one of these is refused. An empty body is a call without arguments.
[[nodiscard]] Result<CallRequest> parse_call_body(std::string_view body);

// {"tool_name": ..., "code": ...}: a call whose one argument is `code`.
[[nodiscard]] Result<CallRequest> parse_execute_body(std::string_view body);

// What parse_call_body takes, as a JSON Schema.
[[nodiscard]] json::object call_body_schema();

}  // namespace sallyport
