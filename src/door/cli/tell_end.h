// What a person at a terminal is told of the end of a call.
#pragma once

#include "sallyport/call.h"

namespace sallyport {

// Why it ended so, what would be allowed, and what was found, on stderr. Its output is not here.
void tell_end(const CallResult& result);

}  // namespace sallyport
