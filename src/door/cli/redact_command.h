// `sallyport redact`: a filter that takes secrets out of text.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/error.h"

namespace sallyport {

struct RedactRequest {
  std::vector<std::string> rules;  // groups; empty: all
  std::vector<std::string> patterns;
  std::string file;  // empty: standard input
  bool count = false;
  bool list = false;
  bool help = false;
};

// Reads the words behind "redact".
[[nodiscard]] Result<RedactRequest> parse_redact_request(std::span<const char* const> words);

// What `sallyport redact --help` prints.
[[nodiscard]] std::string redact_help_text();

// The built-in rules, a line each: id, group, what it finds.
[[nodiscard]] std::string redact_list_text();

// Returns the exit code of the program: 0 done, 1 a file cannot be read or written, 2 a bad
// request.
int redact_command(std::span<const char* const> words);

}  // namespace sallyport
