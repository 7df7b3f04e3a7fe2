// Runs one command in one cell: prepare, launch, supervise, answer. The only way in this code base
// to start a tool.
#pragma once

#include <string>

#include "base/error.h"
#include "cell/spec.h"
#include "sallyport/outcome.h"

namespace sallyport {

// Where the cell's streams go while it runs. A stream that goes nowhere is only captured.
struct CellStreams {
  int input = -1;  // read when the spec says use_stdin
  int output = -1;
  int error = -1;
  int connection = -1;  // a socket that the command gets as its descriptor kConnection
  int egress = -1;      // the door of the egress process, for a cell that may reach something
  int cancel = -1;      // becomes readable when the caller wants the cell to end
};

// For tests: makes the launch step of that name fail.
struct LaunchFault {
  std::string step;
};

// The outcome of a call that was refused before anything of it ran.
[[nodiscard]] Outcome blocked(std::string call_id, Error error);

// Always an answer: what could not be started is an outcome with the status `blocked`.
Outcome run_cell(const CellSpec& spec, const CellStreams& streams,
                 const LaunchFault* fault = nullptr);

}  // namespace sallyport
