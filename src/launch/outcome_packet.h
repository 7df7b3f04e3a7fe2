// The outcome of a call as a packet: in it, or in a memory file that came with it.
#pragma once

#include "launch/packet.h"
#include "sallyport/error.h"
#include "sallyport/outcome.h"

namespace sallyport {

// Of a packet of the kind `outcome`. An error: there is none in it.
[[nodiscard]] Result<Outcome> outcome_in(const Packet& packet);

}  // namespace sallyport
