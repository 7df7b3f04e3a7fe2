// PID 1 of the cell.
#pragma once

#include "cell/board.h"
#include "cell/plan.h"

namespace sallyport {

// What the kernel calls it.
inline constexpr char kInitName[] = "sallyport-init";

// Runs the launch steps, starts the tool, reaps what is left to it, and ends when the tool ends:
// the kernel then kills everything that is still in the cell. Called right after clone; never
// returns.
[[noreturn]] void run_init(Plan& plan, Board& board);

}  // namespace sallyport
