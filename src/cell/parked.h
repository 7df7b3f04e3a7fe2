// Cells that wait: with an interpreter that has started already where the spec wants one, otherwise
// ready to start any command.
#pragma once

#include <memory>

#include "cell/cell.h"

namespace sallyport {

// The image of a template: an interpreter that has started in a cell of its own, with its modules,
// and holds nothing of anybody. The spec is a class (see late.h). An error names the module that
// stands in the way, if it is one.
[[nodiscard]] Result<Fd> make_image(CellSpec spec);

// A cell of the spec's class that is parked. `image`: of the template, or -1; Python needs one to
// wait in the cell. `root`: one that was made for the class. `dozes`: a copy of the image takes its
// memory when it is woken, not before. Null: it could not be made, and nothing is left of it.
[[nodiscard]] std::unique_ptr<Cell> make_parked(const CellSpec& spec, int image,
                                                const SharedRoot* root = nullptr,
                                                bool dozes = false);

// run_cell() in two steps, as the service does it: the cell is made and parked, and then gets its
// command. What may not be parked is run as ever.
Outcome run_parked_cell(const CellSpec& spec, const CellStreams& streams);

}  // namespace sallyport
