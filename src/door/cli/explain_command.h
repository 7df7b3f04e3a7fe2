// `sallyport policy explain`
#pragma once

#include <optional>
#include <span>
#include <string>

#include "base/error.h"
#include "policy/explain.h"

namespace sallyport {

struct ExplainRequest {
  std::string tool;
  std::string policy;  // path of the file
  std::optional<std::string> caller;
  bool json = false;
  bool help = false;
};

// Reads the words behind "policy explain".
[[nodiscard]] Result<ExplainRequest> parse_explain(std::span<const char* const> words);

// What `sallyport policy explain --help` prints.
[[nodiscard]] std::string explain_help_text();

// The explanation for people.
[[nodiscard]] std::string explanation_text(const Explanation& explanation);

// `words` stand behind "policy explain". Returns the exit code of the program.
int explain_command(std::span<const char* const> words);

}  // namespace sallyport
