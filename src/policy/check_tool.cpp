// What fits together in one tool: keys that belong to its kind, and arguments that it uses.
#include <algorithm>

#include "base/text.h"
#include "policy/load.h"

namespace sallyport {
namespace {

bool uses(const Tool& tool, Builtin builtin) {
  return tool.kind == ToolKind::builtin && tool.builtin == builtin;
}

bool runs_code(const Tool& tool) {
  return tool.kind == ToolKind::builtin &&
         (tool.builtin == Builtin::run_python || tool.builtin == Builtin::run_javascript ||
          tool.builtin == Builtin::run_shell);
}

// Keys that mean something to some tools only: elsewhere they would be rules that nobody keeps.
struct Belongs {
  std::string_view key;
  bool (*fits)(const Tool&);
  std::string_view where;
};
bool runs_in_a_cell(const Tool& tool) {
  return tool.kind != ToolKind::function;
}
bool shows_files(const Tool& tool) {
  return !uses(tool, Builtin::sql);
}
bool works_on_files(const Tool& tool) {
  return tool.kind != ToolKind::http && !uses(tool, Builtin::http_fetch);
}
bool has_result(const Tool& tool) {
  return tool.kind == ToolKind::command || tool.kind == ToolKind::http;
}
constexpr Belongs kBelongs[] = {
    {"files", runs_in_a_cell, "tools that run in a cell"},
    {"files", shows_files, "other tools: sql sees its database, and nothing else"},
    {"files", works_on_files, "other tools: this one makes requests, and sees no files"},
    {"network", runs_in_a_cell, "tools that run in a cell"},
    {"dangerously_share_network", runs_in_a_cell, "tools that run in a cell"},
    {"syscalls", runs_in_a_cell, "tools that run in a cell"},
    {"collect", runs_in_a_cell, "tools that run in a cell"},
    {"collect", shows_files, "other tools: sql leaves no files"},
    {"collect", works_on_files, "other tools: this one makes requests, and leaves no files"},
    {"environment", runs_in_a_cell, "tools that run in a cell"},
    {"tools", [](const Tool& tool) { return tool.kind == ToolKind::mcp; }, "tools with `mcp`"},
    {"input", [](const Tool& tool) { return tool.kind == ToolKind::command; }, "tools with `run`"},
    {"result", has_result, "tools with `run` or `http`"},
    {"methods", [](const Tool& tool) { return uses(tool, Builtin::http_fetch); },
     "tools with `use: http_fetch`; elsewhere, to entries of network.allow"},
    {"commands", [](const Tool& tool) { return uses(tool, Builtin::run_command); },
     "tools with `use: run_command`"},
    {"refuse_flags", [](const Tool& tool) { return uses(tool, Builtin::run_command); },
     "tools with `use: run_command`"},
    {"database", [](const Tool& tool) { return uses(tool, Builtin::sql); },
     "tools with `use: sql`"},
    {"tables", [](const Tool& tool) { return uses(tool, Builtin::sql); }, "tools with `use: sql`"},
    {"rows", [](const Tool& tool) { return uses(tool, Builtin::sql); }, "tools with `use: sql`"},
    {"screen", runs_code, "tools that run code: run_python, run_javascript, run_shell"},
    {"warm", runs_code, "tools that run code: run_python, run_javascript, run_shell"},
    {"preload", [](const Tool& tool) { return uses(tool, Builtin::run_python); },
     "tools with `use: run_python`"},
};

void check_shape(const Spot& at, const Tool& tool) {
  for (const Belongs& row : kBelongs)
    if (const Node* value = at.node().find(row.key); value && !row.fits(tool))
      at.refuse_key(row.key, value->place,
                    "'" + std::string(row.key) + "' means nothing to this tool",
                    "it belongs to " + std::string(row.where));
  const auto wants = [&](bool wanted, std::string_view key, std::string_view why) {
    if (wanted && !at.node().find(key))
      at.refuse_key(key, at.node().place, "the key '" + std::string(key) + "' is missing",
                    std::string(why));
  };
  wants(uses(tool, Builtin::run_command), "commands",
        "list what may run, such as [ls, \"git status\"]; an empty list allows nothing");
  wants(uses(tool, Builtin::sql), "database", "write sqlite:/PATH");
  wants(uses(tool, Builtin::sql), "tables", "list the tables that may be read");
  if (uses(tool, Builtin::sql) && tool.database.starts_with("sqlite:"))
    for (const auto& [table, columns] : tool.tables.tables)
      if (table.contains('.'))
        at.refuse_key("tables", at.node().find("tables")->place,
                      "the table " + quoted(table) + " is given with a schema",
                      "tables of SQLite have none: write " + table.substr(table.find('.') + 1));
  wants(tool.kind == ToolKind::mcp, "tools", "list the tools of the server that may be used");
  wants(tool.irreversible, "approval",
        "an irreversible tool asks for approval: say by whom, as approval: {by: [ROLE]}");
  const bool host_tier = tool.tier == Tier::inline_call || tool.tier == Tier::thread;
  if (host_tier && tool.kind != ToolKind::function)
    at.refuse_key("tier", at.node().place,
                  "the tiers inline and thread run functions of the host program, and this is a "
                  "tool of its own",
                  "write tier: process, or leave use, run, http and mcp out");
  if (tool.share_network && (!tool.network.allow.empty() || !tool.network.deny.empty()))
    at.refuse_key("dangerously_share_network", at.node().find("dangerously_share_network")->place,
                  "rules for the network cannot be held where the network is shared",
                  "take one of the two out; network: none takes those of `defaults` out");
  if (!tool.preload.empty() && !tool.warm)
    at.refuse_key("preload", at.node().place, "there is nothing to preload into without `warm`",
                  "write warm: true");
}

// An argument that goes nowhere would be dropped without a word.
void check_all_used(const Spot& at, const Tool& tool) {
  std::vector<std::string> mentioned;
  if (tool.kind == ToolKind::command) {
    if (tool.input_json) return;
    for (const Template& element : tool.run)
      for (const Template::Piece& piece : element.pieces)
        mentioned.push_back(piece.argument);
  } else if (tool.kind == ToolKind::http) {
    std::vector<json::value> texts = {json::value(tool.http.url), tool.http.body};
    texts.reserve(texts.size() + tool.http.headers.size());
    for (const auto& [name, value] : tool.http.headers)
      texts.emplace_back(value);
    for (const json::value& value : texts)
      if (auto checked = check_placeholders(value, tool, mentioned); !checked) {
        const NodeEntry* http = nullptr;
        for (const NodeEntry& entry : at.node().entries)
          if (entry.key.text == "http") http = &entry;
        return at.refuse_key("http", http->value.place, checked.error().message,
                             checked.error().hint);
      }
  } else {
    return;
  }
  const auto is_mentioned = [&](std::string_view name) {
    return std::ranges::find(mentioned, name) != mentioned.end();
  };
  if (is_mentioned("arguments") && !tool.find_argument("arguments")) return;
  for (const Argument& argument : tool.args)
    if (!is_mentioned(argument.name))
      at.refuse_key("args." + argument.name, argument.place,
                    "the argument " + quoted(argument.name) + " is never used",
                    tool.kind == ToolKind::command
                        ? "put \"{" + argument.name + "}\" into `run`, or write input: json"
                        : "put \"{" + argument.name + "}\" into the url or the body");
}

}  // namespace

void check_tool(const Spot& at, const Tool& tool) {
  check_shape(at, tool);
  check_all_used(at, tool);
}

}  // namespace sallyport
