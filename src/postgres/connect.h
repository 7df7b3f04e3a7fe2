// The way to a server: a socket, connected outside of the cell that will use it.
#pragma once

#include <chrono>

#include "base/fd.h"
#include "input/postgres_address.h"

namespace sallyport {

// Reason::unavailable: nobody answers within `patience`, or `cancel` (if it is one) became
// readable. The socket blocks.
[[nodiscard]] Result<Fd> connect_postgres(const PostgresAddress& address,
                                          std::chrono::milliseconds patience, int cancel = -1);

}  // namespace sallyport
