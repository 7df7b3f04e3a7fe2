// Bytes between the tool and the supervisor, carried by a thread of their own.
//
// The kernel holds a pipe's lock while a splice() or sendfile() into it waits for its source, and
// whoever reads or writes that pipe meanwhile waits where no signal reaches, O_NONBLOCK or not. The
// tool decides how long. So the thread that keeps the deadline never touches a pipe that the tool
// has: it reads and writes pipes of its own, and these threads do the rest. A stuck one comes back
// when the cell is killed.
#pragma once

#include "base/error.h"
#include "base/fd.h"

namespace sallyport {

// What can be read from `tool_end`, at the read end of a pipe of our own, which does not block.
Sys<Fd> pump_from(Fd tool_end);

// What is written to the returned write end, which does not block, goes to `tool_end`.
Sys<Fd> pump_to(Fd tool_end);

}  // namespace sallyport
