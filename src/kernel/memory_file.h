// Text as a file that has no name and cannot be changed.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/fd.h"

namespace sallyport {

// A sealed memory file that holds `content`, at its beginning.
[[nodiscard]] Sys<Fd> make_memory_file(std::string_view content);

// What a memory file holds that somebody else has sent. EPERM: it is not one, or its sender could
// still change it; EFBIG: it is larger than `most` bytes.
[[nodiscard]] Sys<std::string> read_memory_file(int file, std::size_t most);

}  // namespace sallyport
