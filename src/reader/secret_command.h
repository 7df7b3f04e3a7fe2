// A secret that a command prints.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>

#include "egress/link.h"
#include "reader/reading.h"

namespace sallyport {

inline constexpr std::chrono::seconds kCommandPatience{10};

// `command`: a program by its path, and words, with single spaces between them; no shell sees them.
// It has nothing to read, and the environment of this process. What it started ends with it, as far
// as it stayed in the same process group. What it says on stderr is in the reason when it fails.
Task<Reading> run_secret_command(boost::asio::io_context& io, std::string command,
                                 std::chrono::milliseconds patience = kCommandPatience);

}  // namespace sallyport
