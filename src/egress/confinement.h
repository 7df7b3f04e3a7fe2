// What the egress process may ask of the kernel once it serves: bytes on sockets that it has or
// that lead to hosts, memory, time. No file, no program, no other process.
#pragma once

#include "base/error.h"
#include "kernel/seccomp_policy.h"

namespace sallyport {

[[nodiscard]] Result<SeccompPolicy> egress_policy();

// Puts the calling thread under it for good; any other call ends the process. Needs no_new_privs.
// The event loop has to be there already.
[[nodiscard]] Result<void> confine_egress();

}  // namespace sallyport
