// A secret in a file.
#pragma once

#include "reader/reading.h"

namespace sallyport {

// A file that is not there, cannot be read or is not fit for a secret is one that is gone: what is
// not a regular file, what everybody may read or write, and what its group may write.
[[nodiscard]] Reading read_secret_file(const std::string& path);

}  // namespace sallyport
