// `sallyport call`
#pragma once

#include <span>

namespace sallyport {

// `words` stand behind "call". Returns the exit code of the program.
int call_command(std::span<const char* const> words);

}  // namespace sallyport
