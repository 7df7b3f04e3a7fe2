// What the launcher says about its pool when it is asked.
#pragma once

#include <optional>
#include <string>

#include "base/error.h"
#include "launch/cell_pool.h"

namespace sallyport {

// The launcher's answer.
[[nodiscard]] Sys<void> send_status(int connection, const PoolStatus& status);

// Asks the launcher that listens on `socket` (a path), and waits for a moment at most.
[[nodiscard]] std::optional<PoolStatus> ask_status(const std::string& socket);

}  // namespace sallyport
