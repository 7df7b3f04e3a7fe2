// Whether this still is the process that it was: a library may be forked with all that it holds.
#pragma once

#include <cstdint>

namespace sallyport {

// Another number in a child process than in its parent. Asking costs no system call, unlike
// getpid(); a child that was made past fork() is not noticed.
[[nodiscard]] std::uint64_t process_number();

}  // namespace sallyport
