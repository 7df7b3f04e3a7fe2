// The sockets of a cell that may reach hosts: made in its own network, served by the egress
// process.
#pragma once

#include "base/error.h"
#include "base/fd.h"
#include "egress/network_map.h"

namespace sallyport {

// Where a program of the cell believes that a host is. Allocates nothing.
[[nodiscard]] Sys<Fd> listen_at(const EgressPoint& point);

}  // namespace sallyport
