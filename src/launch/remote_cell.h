// run_cell() by the launcher process: the front has no privileges and never forks.
#pragma once

#include <memory>
#include <string>

#include "cell/run.h"

namespace sallyport {

// A cell that the launcher was asked for. It checks the call and gets the cell ready, but runs
// nothing before it is told to: a caller asks while it does what has to be done before. One that is
// let go unused has run nothing.
class RemoteCell {
 public:
  virtual ~RemoteCell() = default;
  // To be called once: lets it run, and waits for the answer.
  [[nodiscard]] virtual Outcome run() = 0;
};

// The streams stay the caller's until it has run.
[[nodiscard]] std::unique_ptr<RemoteCell> ask_for_cell(const std::string& socket,
                                                       const std::string& tenant,
                                                       const CellSpec& spec,
                                                       const CellStreams& streams);

// Both at once. Asks the launcher that listens on `socket` (a path) to run the cell, and waits for
// its answer as run_cell does: always an answer, and cancelled the same way. `tenant` chooses the
// uid range. A launcher that is not there, or dies meanwhile, is an outcome with the reason
// `unavailable`: `blocked` if the tool certainly did not start, `error` if it may have run.
Outcome run_cell_remotely(const std::string& socket, const std::string& tenant,
                          const CellSpec& spec, const CellStreams& streams);

// The service stops, and cuts the calls that are left: what is cancelled in this process from now
// on says so, and not that its caller ended it.
void blame_the_stop();

}  // namespace sallyport
