// The name of one call: 32 hexadecimal digits, random, so that it can neither be guessed nor
// repeat.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>

namespace sallyport {

// From getrandom(2). Where that fails (a seccomp filter of the host program may refuse it), from
// the 16 bytes that the kernel gave this process at its start (AT_RANDOM), the clock, the thread
// and a count, all hashed: such a name does not repeat either, but somebody who can read this
// process's memory can foresee it. No call fails for want of a name.
[[nodiscard]] std::string make_call_id();

// The same with another getrandom, for tests.
[[nodiscard]] std::string make_call_id(ssize_t (*get_random)(void*, std::size_t, unsigned));

}  // namespace sallyport
