// The log of a service: one JSON object a line on standard error. Nothing that a client sent is
// ever put into it, so no secret can be.
#pragma once

#include <string_view>

#include "base/json.h"

namespace sallyport {

void log_line(std::string_view event, const json::object& fields = {});

}  // namespace sallyport
