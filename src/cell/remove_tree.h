// Deleting a tree that somebody else may be changing.
#pragma once

#include <cstdint>

#include "base/error.h"

namespace sallyport {

// Deletes `name`, one component, of `directory`, with everything below it, and adds the number of
// deleted entries to `removed`. Never follows a symlink or crosses a mount (EXDEV, EBUSY); no depth
// of the tree exhausts the stack, the path length or the descriptors. What is not there counts as
// deleted. After an error part of the tree may be gone.
Sys<void> remove_tree(int directory, const char* name, std::uint64_t& removed);

}  // namespace sallyport
