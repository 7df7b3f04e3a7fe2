// Tools that are functions of the host program: the tiers `inline` and `thread`.
#pragma once

#include "boundary/passage.h"

namespace sallyport {

// Fills the result of the passage. A function on a worker thread cannot be ended: past its deadline
// the call is answered without it (`usage.final` is false), and the thread goes on by itself. So
// that such threads cannot pile up, calls are refused once there are many.
[[nodiscard]] Pass run_function(Passage& passage);

// A function as a tool of the policy: with the rules of its entry in the file, if it has one, or
// else the defaults.
[[nodiscard]] Result<RegisteredFunction> make_function_tool(const Rules& rules, Function function,
                                                            const QuickFunctions& quick);

}  // namespace sallyport
