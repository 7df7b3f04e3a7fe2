// Parts of files that every copy of an image reads: the program itself, the C library.
#pragma once

#include <sys/types.h>

#include <span>

#include "warm/image_file.h"

namespace sallyport {

// Puts the segments of files that have one of the pages `read` into the image; `copy` is a process
// that was restored from it, and whose root has the files. Copies then map them from its large
// pieces of memory, which takes less than the single pages of a file's cache; the files are looked
// at as before, and one that was replaced makes the image worthless. What cannot be taken in is
// mapped from its file.
void take_in_files(Image& image, std::span<const ImageRange> read, pid_t copy);

}  // namespace sallyport
