// run_cell() by the launcher process: the front has no privileges and never forks.
#pragma once

#include <string>

#include "cell/run.h"

namespace sallyport {

// Asks the launcher that listens on `socket` (a path) to run the cell, and waits for its answer as
// run_cell does: always an answer, and cancelled the same way. `tenant` chooses the uid range. A
// launcher that is not there, or dies meanwhile, is an outcome with the reason `unavailable`:
// `blocked` if the tool certainly did not start, `error` if it may have run.
Outcome run_cell_remotely(const std::string& socket, const std::string& tenant,
                          const CellSpec& spec, const CellStreams& streams);

// The service stops, and cuts the calls that are left: what is cancelled in this process from now
// on says so, and not that its caller ended it.
void blame_the_stop();

}  // namespace sallyport
