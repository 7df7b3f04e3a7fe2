// Lock-outs of a service that runs: it counts in memory, so it has to be asked.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "access/ledger.h"

namespace sallyport {

// None: no service runs on this state directory.
[[nodiscard]] std::optional<Result<std::vector<LockedOut>>> ask_lockouts(int state);
[[nodiscard]] std::optional<Result<bool>> ask_to_lift(int state, const std::string& who);

}  // namespace sallyport
