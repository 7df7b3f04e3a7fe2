// What became of a cell, as words for the person or model that asked for it.
#pragma once

#include "base/error.h"
#include "cell/board.h"
#include "cell/spec.h"
#include "sallyport/outcome.h"

namespace sallyport {

// What a failed step of the launch means.
Error explain_failed_step(const Board& board);

// A launch that was cut short from outside, so that no step of it could say why.
Error explain_unfinished_launch(const Board& board, const CellSpec& spec, Reason verdict);

// Fills in status, reason, message and exit code. `verdict` is why the supervisor ended the cell,
// if it did: the first cause wins over whatever the tool made of it.
void judge(const Board& board, const CellSpec& spec, Reason verdict, Outcome& outcome);

}  // namespace sallyport
