// The tools of a policy as the agents' frameworks want them told: only those that a caller may
// call, with their arguments as one schema.
#pragma once

#include <optional>
#include <string_view>

#include "policy/rules.h"

namespace sallyport {

enum class DefinitionFormat {
  openai,     // {"type": "function", "function": {"name", "description", "parameters"}}
  anthropic,  // {"name", "description", "input_schema"}
  mcp,        // entries of tools/list, with annotations
  json,       // ours: also permissions, and what this version cannot do
};

// The declared arguments as one object schema: nothing else may be given.
[[nodiscard]] json::object arguments_schema(const Tool& tool);

// Hints for a client of MCP, which the protocol does not let it rely on. They say no more than what
// the rules enforce: a tool counts as read-only if its cell can change nothing outside itself.
[[nodiscard]] json::object mcp_annotations(const Tool& tool);

// Whether all of the formats take the name: letters, digits, '_' and '-', at most 64.
[[nodiscard]] bool is_portable_name(std::string_view name);

// All tools that `caller` may call, by name; without a caller, all tools. The tools of an MCP
// server appear as SERVER_TOOL. A name that is not portable is left out, and, in the formats for
// models, a tool whose every call this version refuses: a model would only try it.
[[nodiscard]] json::array tool_definitions(const Rules& rules, const Caller* caller,
                                           DefinitionFormat format);

}  // namespace sallyport
