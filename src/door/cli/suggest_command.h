// `sallyport policy suggest`
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "cell/spec.h"

namespace sallyport {

// What an observed run may spend: far more than a tool should have.
[[nodiscard]] CellSpec generous_spec();

struct SuggestRequest {
  CellSpec spec = generous_spec();  // its grants are those that the user asked for
  std::string name;                 // of the tool; empty: made from the command
  bool json = false;
  bool help = false;
};

// Reads the words behind "policy suggest". Looks at nothing of the host.
[[nodiscard]] Result<SuggestRequest> parse_suggest(std::span<const char* const> words);

// What `sallyport policy suggest --help` prints.
[[nodiscard]] std::string suggest_help_text();

// Read-only grants of everything on this machine that is no part of the system and that a cell can
// show, except what `given` has its own grants for.
[[nodiscard]] std::vector<Grant> permissive_grants(const std::vector<Grant>& given);

// Returns the exit code of the program: 0 when there is a proposal, 125 when nothing was run.
int suggest_command(std::span<const char* const> words);

}  // namespace sallyport
