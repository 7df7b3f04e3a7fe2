// The command line of `sallyport call`.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cell/spec.h"
#include "sallyport/call.h"
#include "sallyport/error.h"

namespace sallyport {

struct CallCommand {
  std::string policy;  // path of the file
  std::string via;     // the service that runs it, in place of a policy
  std::optional<std::string> state;
  std::string tool;
  std::optional<std::string> arguments_json;                        // --args
  std::vector<std::pair<std::string, std::string>> argument_words;  // key=value
  std::vector<InputFile> inputs;                                    // --in
  bool read_stdin = false;
  CallRequest request;  // what the options alone decide: caller, collect, limits, ...
  bool json = false;
  bool help = false;
};

// Reads the words behind `sallyport call`. Options, the name of the tool and key=value words may
// stand in any order.
[[nodiscard]] Result<CallCommand> parse_call(std::span<const char* const> words);

// What `sallyport call --help` prints.
[[nodiscard]] std::string call_help_text();

}  // namespace sallyport
