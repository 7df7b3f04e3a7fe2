// The way to the launcher.
#pragma once

#include <string>

#include "base/error.h"
#include "base/fd.h"

namespace sallyport {

// Waits for a moment at most, for a place in the queue.
[[nodiscard]] Sys<Fd> connect_to_launcher(const std::string& path);

}  // namespace sallyport
