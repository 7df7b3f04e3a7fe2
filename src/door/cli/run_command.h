// `sallyport run`
#pragma once

#include <span>

#include "door/cli/process.h"

namespace sallyport {

// `words` stand behind "run". Returns the exit code of the program.
int run_command(std::span<const char* const> words);

}  // namespace sallyport
