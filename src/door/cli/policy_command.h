// `sallyport policy`: check, schema and init; the other commands have files of their own.
#pragma once

#include <span>
#include <string>

#include "base/error.h"
#include "sallyport/policy.h"

namespace sallyport {

struct CheckRequest {
  std::string file;
  bool json = false;
  bool help = false;
};

// Reads the words behind "policy check".
[[nodiscard]] Result<CheckRequest> parse_check(std::span<const char* const> words);

// What `sallyport policy check` found, for people: a line for each problem and each warning, and
// one that says whether the file loads.
[[nodiscard]] std::string check_text(const std::string& file, const PolicyResult& result);

// The same as JSON.
[[nodiscard]] std::string check_json(const std::string& file, const PolicyResult& result);

// What `sallyport policy --help` prints.
[[nodiscard]] std::string policy_help_text();

// `words` stand behind "policy". Returns the exit code of the program.
int policy_command(std::span<const char* const> words);

}  // namespace sallyport
