// `sallyport policy test`
#pragma once

#include <span>

namespace sallyport {

// `words` stand behind "policy test". Returns the exit code of the program.
int policy_test_command(std::span<const char* const> words);

}  // namespace sallyport
