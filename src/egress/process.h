// The egress process: it has the network and no files, serves the sockets of cells from outside,
// and decides about every name and every connection by the rules of the cell it belongs to.
#pragma once

#include <sys/types.h>

#include "base/error.h"
#include "base/fd.h"

namespace sallyport {

// Who it is where root starts it: an id that belongs to nobody.
inline constexpr uid_t kEgressUid = 60865;

// Serves what comes through the door until nobody is left who could send. Reads the authorities
// that the machine trusts first, and then gives up the right to open files. `reader`: where secrets
// come from (start_reader); none: there are no credentials. An error: it could not begin.
[[nodiscard]] Result<void> serve_egress(Fd door, Fd reader);

}  // namespace sallyport
