// The command line of `sallyport run`.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>

#include "base/error.h"
#include "cell/spec.h"
#include "door/cli/option_table.h"

namespace sallyport {

// The defaults of a person at a shell, who reads more output than a model does.
[[nodiscard]] CellSpec shell_defaults();

struct RunRequest {
  CellSpec spec = shell_defaults();
  bool ahead = false;                      // make the cell before it gets its command
  bool json = false;                       // print the result instead of the output
  bool timings = false;                    // show how long each step of the launch took
  bool verbose = false;                    // say on stderr what the cell has
  std::optional<std::string> result_file;  // write the result there
  std::string via;                         // the service whose cell it is; empty: one of our own
  std::string tool;                        // ... and its tool; empty: the one that runs commands
  std::map<std::string, std::string> asked_limits;  // those that were given, as a policy names them
  bool help = false;                                // print help_text() and do nothing else
};

// Reads the words behind `sallyport run`. An error has the reason `argument`, names the option and
// says what to write instead. Nothing of the host is looked at: paths are as they were written.
[[nodiscard]] Result<RunRequest> parse_run(std::span<const char* const> words);

// What `sallyport run --help` prints.
[[nodiscard]] std::string help_text();

}  // namespace sallyport
