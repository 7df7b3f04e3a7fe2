// `sallyport call --via`: the call of a tool of a service that runs, over its API. The service's
// policy decides, and its pool has the cell.
#pragma once

#include "door/cli/call_options.h"
#include "door/cli/service_talk.h"

namespace sallyport {

// The request with its arguments as the service's tool wants them, sent and answered. Files that
// were asked for are in the result. An error: the service does not answer, or does not know the
// key.
[[nodiscard]] Result<ServiceAnswer> call_service(const CallCommand& command, CallRequest request);

}  // namespace sallyport
