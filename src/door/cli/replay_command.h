// `sallyport policy replay`
#pragma once

#include <span>

namespace sallyport {

// `words` stand behind "policy replay". Returns the exit code of the program.
int replay_command(std::span<const char* const> words);

}  // namespace sallyport
