// `sallyport policy diff`
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "policy/diff.h"

namespace sallyport {

struct DiffRequest {
  std::string before, after;  // paths of the files
  bool json = false;
  bool help = false;
};

// Reads the words behind "policy diff".
[[nodiscard]] Result<DiffRequest> parse_diff(std::span<const char* const> words);

// What `sallyport policy diff --help` prints.
[[nodiscard]] std::string diff_help_text();

// The changes for people, a line each, and how many there are.
[[nodiscard]] std::string changes_text(const std::vector<PolicyChange>& changes);

// `words` stand behind "policy diff". Returns the exit code of the program.
int diff_command(std::span<const char* const> words);

}  // namespace sallyport
