#include "policy/tool_definitions.h"

#include <algorithm>

#include "base/text.h"
#include "policy/envelope.h"
#include "policy/explain_sections.h"
#include "policy/not_yet.h"

namespace sallyport {
namespace {

constexpr std::size_t kLongestName = 64;

bool is_one_of(const Tool& tool, std::initializer_list<Builtin> builtins) {
  return tool.kind == ToolKind::builtin &&
         std::ranges::find(builtins, tool.builtin) != builtins.end();
}

bool reaches_network(const Tool& tool) {
  return !runs_in_cell(tool) || tool.kind == ToolKind::mcp || !tool.network.allow.empty() ||
         !tool.credentials.empty() || is_one_of(tool, {Builtin::http_fetch});
}

bool changes_nothing(const Tool& tool) {
  return !tool.irreversible && !reaches_network(tool) && tool.files.write.empty() &&
         !is_one_of(tool, {Builtin::write_file, Builtin::sql});
}

// One definition, before it is put into the words of a format.
struct Definition {
  std::string name;
  std::string description;
  json::object schema;
  const Tool* tool;
};

std::vector<Definition> define(const Tool& tool) {
  if (tool.kind != ToolKind::mcp)
    return {{tool.name, to_utf8(tool.description), arguments_schema(tool), &tool}};
  std::vector<Definition> list;
  list.reserve(tool.mcp_tools.size());
  for (const std::string& name : tool.mcp_tools)
    list.push_back({tool.name + "_" + name,
                    tool.description.empty() ? "The tool " + name + " of " + tool.name
                                             : to_utf8(tool.description),
                    // What it takes is known to the server alone.
                    {{"type", "object"}},
                    &tool});
  return list;
}

json::object in_format(Definition definition, DefinitionFormat format) {
  switch (format) {
    case DefinitionFormat::openai:
      return {{"type", "function"},
              {"function", json::object{{"name", definition.name},
                                        {"description", definition.description},
                                        {"parameters", std::move(definition.schema)}}}};
    case DefinitionFormat::anthropic:
      return {{"name", definition.name},
              {"description", definition.description},
              {"input_schema", std::move(definition.schema)}};
    case DefinitionFormat::mcp:
      return {{"name", definition.name},
              {"description", definition.description},
              {"inputSchema", std::move(definition.schema)},
              {"annotations", mcp_annotations(*definition.tool)}};
    case DefinitionFormat::json:
      break;
  }
  json::array needs, unavailable;
  for (const std::string& permission : definition.tool->needs)
    needs.emplace_back(permission);
  for (const NotYet& row : not_yet())
    if (row.asked(*definition.tool)) unavailable.emplace_back(row.what);
  return {{"name", definition.name},
          {"description", definition.description},
          {"arguments", std::move(definition.schema)},
          {"needs", std::move(needs)},
          {"annotations", mcp_annotations(*definition.tool)},
          {"approval", definition.tool->approval || definition.tool->irreversible},
          {"unavailable", std::move(unavailable)}};
}

}  // namespace

json::object arguments_schema(const Tool& tool) {
  json::object properties;
  json::array required;
  for (const Argument& argument : tool.args) {
    json::object property = argument.definition;
    if (argument.fallback) property["default"] = *argument.fallback;
    properties[argument.name] = std::move(property);
    if (!argument.fallback && !argument.optional) required.emplace_back(argument.name);
  }
  return {{"type", "object"},
          {"properties", std::move(properties)},
          {"required", std::move(required)},
          {"additionalProperties", false}};
}

json::object mcp_annotations(const Tool& tool) {
  const bool read_only = changes_nothing(tool);
  return {{"readOnlyHint", read_only},
          {"destructiveHint", !read_only},
          {"idempotentHint", read_only},
          {"openWorldHint", reaches_network(tool)}};
}

bool is_portable_name(std::string_view name) {
  constexpr std::string_view kAllowed =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
  return !name.empty() && name.size() <= kLongestName &&
         name.find_first_not_of(kAllowed) == std::string_view::npos;
}

json::array tool_definitions(const Rules& rules, const Caller* caller, DefinitionFormat format) {
  json::array definitions;
  for (const auto& [name, tool] : rules.tools) {
    if (caller && !make_envelope(rules, tool, *caller).missing.empty()) continue;
    for (Definition& definition : define(tool))
      if (is_portable_name(definition.name))
        definitions.push_back(in_format(std::move(definition), format));
  }
  return definitions;
}

}  // namespace sallyport
