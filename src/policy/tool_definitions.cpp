#include "policy/tool_definitions.h"

#include <algorithm>

#include "base/text.h"
#include "policy/envelope.h"
#include "policy/explain_sections.h"
#include "policy/inside_path.h"
#include "policy/not_yet.h"

namespace sallyport {
namespace {

constexpr std::size_t kLongestName = 64;

bool is_one_of(const Tool& tool, std::initializer_list<Builtin> builtins) {
  return tool.kind == ToolKind::builtin &&
         std::ranges::find(builtins, tool.builtin) != builtins.end();
}

bool reaches_network(const Tool& tool) {
  return !runs_in_cell(tool) || tool.kind == ToolKind::mcp || tool.kind == ToolKind::http ||
         !tool.network.allow.empty() || tool.share_network || !tool.credentials.empty() ||
         is_one_of(tool, {Builtin::http_fetch});
}

bool changes_nothing(const Tool& tool) {
  return !tool.irreversible && !reaches_network(tool) && tool.files.write.empty() &&
         !is_one_of(tool, {Builtin::write_file, Builtin::edit_file});
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
  json::object object{{"name", definition.name}};
  // An empty description says less than none: every format may go without.
  if (!definition.description.empty()) object["description"] = definition.description;
  switch (format) {
    case DefinitionFormat::openai:
      object["parameters"] = std::move(definition.schema);
      return {{"type", "function"}, {"function", std::move(object)}};
    case DefinitionFormat::anthropic:
      object["input_schema"] = std::move(definition.schema);
      return object;
    case DefinitionFormat::mcp:
      object["inputSchema"] = std::move(definition.schema);
      object["annotations"] = mcp_annotations(*definition.tool);
      return object;
    case DefinitionFormat::json:
      break;
  }
  json::array needs, unavailable;
  for (const std::string& permission : definition.tool->needs)
    needs.emplace_back(permission);
  for (const std::string_view what : lacks(*definition.tool))
    unavailable.emplace_back(what);
  object["arguments"] = std::move(definition.schema);
  object["needs"] = std::move(needs);
  object["annotations"] = mcp_annotations(*definition.tool);
  object["approval"] = definition.tool->approval || definition.tool->irreversible;
  object["unavailable"] = std::move(unavailable);
  return object;
}

}  // namespace

json::object arguments_schema(const Tool& tool) {
  json::object properties;
  json::array required;
  for (const Argument& argument : tool.args) {
    json::object property = argument.definition;
    if (argument.fallback) property["default"] = *argument.fallback;
    // The model's own words for the place: those of the host are none of its business.
    if (argument.type == ArgumentType::path && !property.contains("description"))
      if (const auto inside = inside_path(tool.files, argument.below))
        property["description"] = "A path below " + to_utf8(*inside);
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
    if (format != DefinitionFormat::json && !lacks(tool).empty()) continue;
    for (Definition& definition : define(tool))
      if (is_portable_name(definition.name))
        definitions.push_back(in_format(std::move(definition), format));
  }
  return definitions;
}

}  // namespace sallyport
