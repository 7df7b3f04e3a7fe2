// Text as a file that has no name and cannot be changed.
#pragma once

#include <string_view>

#include "base/error.h"
#include "base/fd.h"

namespace sallyport {

// A sealed memory file that holds `content`, at its beginning.
[[nodiscard]] Sys<Fd> make_memory_file(std::string_view content);

}  // namespace sallyport
