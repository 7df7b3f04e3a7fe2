// The egress process: it has the network and no files, serves the sockets of cells from outside,
// and decides about every name and every connection by the rules of the cell it belongs to.
#pragma once

#include <sys/types.h>

#include "base/error.h"
#include "base/fd.h"

namespace sallyport {

// Who it is where root starts it: an id that belongs to nobody.
inline constexpr uid_t kEgressUid = 60865;

// Serves what comes through the door until nobody is left who could send. Reads what it needs of
// /etc first, and then gives up the right to open files. An error: it could not begin.
[[nodiscard]] Result<void> serve_egress(Fd door);

}  // namespace sallyport
