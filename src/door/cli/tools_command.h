// `sallyport tools list`
#pragma once

#include <optional>
#include <span>
#include <string>

#include "base/error.h"
#include "policy/tool_definitions.h"

namespace sallyport {

struct ToolsRequest {
  std::string policy;  // path of the file
  std::optional<std::string> caller;
  std::optional<DefinitionFormat> format;  // none: text
  bool help = false;
};

// Reads the words behind "tools".
[[nodiscard]] Result<ToolsRequest> parse_tools(std::span<const char* const> words);

// What `sallyport tools --help` prints.
[[nodiscard]] std::string tools_help_text();

// The tools for people; all of them without a caller.
[[nodiscard]] std::string tools_text(const Rules& rules, const Caller* caller);

// `words` stand behind "tools". Returns the exit code of the program.
int tools_command(std::span<const char* const> words);

}  // namespace sallyport
