// The pages that a copy of an interpreter touches before it has its order, and that its script
// would otherwise wait for one by one.
#pragma once

#include <sys/types.h>

#include "base/error.h"
#include "base/fd.h"

namespace sallyport {

// The same image, with a note of what `copy`, a process that was restored from it, has written and
// read since. Copies of the new one have these pages from the start. An error: it cannot be seen;
// the image is then as good as before.
[[nodiscard]] Result<Fd> note_hot_pages(int image, pid_t copy);

// Whether an image has such a note.
[[nodiscard]] bool has_hot_pages(int image);

}  // namespace sallyport
