// Takes the image of an interpreter that has started and waits for its order.
#pragma once

#include <sys/types.h>

#include "base/error.h"
#include "base/fd.h"
#include "sallyport/units.h"

namespace sallyport {

// `process` waits in read() on SALLYPORT_ORDER_FD; it is stopped and of no use afterwards. The
// caller may trace it. An error says what about it cannot be in an image: threads, descriptors of
// its own, memory that it shares, more memory than `most`. Restored processes are called `name`.
[[nodiscard]] Result<Fd> take_image(pid_t process, std::string_view name, ByteSize most);

}  // namespace sallyport
