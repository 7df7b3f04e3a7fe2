// The constants of this program that hold addresses: tables of functions, of names, of options. The
// loader writes them when the program starts, for it lies somewhere else each time, and makes them
// read-only; from then on they are pages of the process's own. Each child gets all of them entered
// into its page tables, and has them taken out again at its end.
#pragma once

#include <span>

#include "base/error.h"

namespace sallyport {

// Where they are, as whole pages; empty where the program has none, or they can be written to.
[[nodiscard]] std::span<const char> program_constants();

// Puts a sealed file with the same content in their place, of which a child has what it touches. An
// error: they are what they were.
[[nodiscard]] Sys<void> share_program_constants();

}  // namespace sallyport
