// A look through what a tool left in its scratch.
#pragma once

#include "sallyport/units.h"

namespace sallyport {

// Whether a regular file of exactly `size` bytes lies below `directory`: a file that RLIMIT_FSIZE
// stopped has the limit's size, and one that is larger was never the tool's work but an input.
// Follows no symlink and crosses no mount. The tool chose how many entries there are and how deep
// they lie, so the search is bounded in both; what it did not get to see does not count.
[[nodiscard]] bool has_file_of_size(int directory, ByteSize size);

}  // namespace sallyport
