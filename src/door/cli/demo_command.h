// `sallyport demo`
#pragma once

#include <span>

namespace sallyport {

// Returns the exit code of the program.
int demo_command(std::span<const char* const> words);

}  // namespace sallyport
