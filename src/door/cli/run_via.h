// `sallyport run --via`: the command as a call of a service's tool, in a cell of its pool. The call
// passes the gates like any other. Nothing of the client enters but what it sends, the bytes of
// --in and --stdin, and what it shows with --read and --write (show_files.h).
#pragma once

#include "door/cli/options.h"
#include "door/cli/service_talk.h"

namespace sallyport {

// Runs it and waits for its end. What it writes goes to our own streams as it comes, unless the
// result alone is wanted (--json). When `cancel` becomes readable, everything that it runs is
// killed. An error: the service does not answer, does not know the key, or has no such tool.
[[nodiscard]] Result<ServiceAnswer> run_via(const RunRequest& request, int cancel);

}  // namespace sallyport
