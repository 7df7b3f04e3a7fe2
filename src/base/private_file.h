// Files of a directory that belongs to one user, shared by several processes of that user.
#pragma once

#include <sys/stat.h>

#include <chrono>

#include "base/error.h"
#include "base/fd.h"

namespace sallyport {

// Opens, and with O_CREAT in `flags` makes with mode 0600, the file `name` of the directory. A link
// is not followed; what is not a plain file, belongs to another user or can be written by others is
// refused. The error is `unavailable`; a file that is missing is an invalid Fd.
[[nodiscard]] Result<Fd> open_private_file(int directory, const char* name, int flags);

// Whether only its owner, who we are, can write to a file.
[[nodiscard]] bool is_private(const struct stat& status);

// Locks an open file of that name; the error is `unavailable`.
[[nodiscard]] Result<void> lock_file(int file, const char* name,
                                     std::chrono::milliseconds patience);

// Opens and locks the file, for as long as the descriptor is open. A file that was moved away while
// we waited is let go and opened anew. Every caller gets an open file of its own: threads exclude
// each other as processes do, and a child that inherits a descriptor holds no lock of its parent's
// that the parent does not hold. The error is `unavailable`: a holder that was stopped must not
// stop everybody else for ever.
[[nodiscard]] Result<Fd> lock_private_file(int directory, const char* name, int flags,
                                           std::chrono::milliseconds patience);

}  // namespace sallyport
