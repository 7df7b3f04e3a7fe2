// Files that a call brought back, put below a directory.
#pragma once

#include <string>
#include <string_view>

#include "sallyport/error.h"

namespace sallyport {

// Makes the file `name` (relative, regular) below the directory, with the directories above it.
// Follows no symlink, and fails if something has the name already.
[[nodiscard]] Result<void> put_new_file(int directory, const std::string& name,
                                        std::string_view content);

}  // namespace sallyport
