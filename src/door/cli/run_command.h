// `sallyport run`
#pragma once

#include <span>

#include "base/error.h"

namespace sallyport {

// `words` stand behind "run". Returns the exit code of the program.
int run_command(std::span<const char* const> words);

// An error of ours on stderr, in one form for all commands.
void print_error(const Error& error);

}  // namespace sallyport
