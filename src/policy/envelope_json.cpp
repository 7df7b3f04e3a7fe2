// The envelope as JSON. Places in the file are left out: the hash is of what the rules say, not of
// where they stand. A member that a rule is silent about is left out too.
#include <cstddef>

#include "base/text.h"
#include "policy/envelope.h"
#include "policy/limit_value.h"

namespace sallyport {
namespace {

json::array strings(const std::vector<std::string>& list) {
  json::array array;
  for (const std::string& each : list)
    array.emplace_back(to_utf8(each));
  return array;
}

json::array hosts(const std::vector<HostPattern>& list) {
  json::array array;
  for (const HostPattern& each : list)
    array.emplace_back(each.to_text());
  return array;
}

json::object string_map(const std::map<std::string, std::string>& map) {
  json::object object;
  for (const auto& [name, value] : map)
    object[to_utf8(name)] = to_utf8(value);
  return object;
}

json::object tables_json(const TableRules& rules) {
  json::object tables;
  for (const auto& [table, columns] : rules.tables) {
    if (columns.empty())
      tables[table] = "all";
    else
      tables[table] = strings(columns);
  }
  return {{"all_tables", rules.all_tables}, {"tables", std::move(tables)}};
}

json::array files_json(const std::vector<FileRule>& rules) {
  json::array array;
  for (const FileRule& rule : rules) {
    json::object object{{"host", to_utf8(rule.host)}, {"inside", to_utf8(rule.inside)}};
    if (rule.names) object["names"] = to_utf8(rule.names_text);
    array.push_back(std::move(object));
  }
  return array;
}

json::object network_json(const NetworkRules& rules) {
  json::array allow;
  for (const HostRule& rule : rules.allow) {
    json::object object{{"host", rule.host.to_text()},
                        {"port", rule.port},
                        {"scheme", rule.scheme},
                        {"internal", rule.internal},
                        {"inspect", rule.inspect}};
    if (!rule.address.empty()) object["address"] = rule.address;
    if (!rule.methods.empty()) object["methods"] = strings(rule.methods);
    if (!rule.paths.empty()) object["paths"] = strings(rule.paths);
    allow.push_back(std::move(object));
  }
  json::object object{{"allow", std::move(allow)}, {"deny", hosts(rules.deny)}};
  if (rules.requests) object["requests"] = *rules.requests;
  if (rules.connections) object["connections"] = *rules.connections;
  if (rules.upload) object["upload"] = to_text(*rules.upload);
  if (rules.download) object["download"] = to_text(*rules.download);
  if (rules.time) object["time"] = to_text(*rules.time);
  return object;
}

std::string_view type_text(ArgumentType type) {
  switch (type) {
    case ArgumentType::json:
      return "json";
    case ArgumentType::string:
      return "string";
    case ArgumentType::path:
      return "path";
    case ArgumentType::sql_identifier:
      return "sql_identifier";
    case ArgumentType::url:
      return "url";
    case ArgumentType::host:
      return "host";
    case ArgumentType::command:
      return "command";
  }
  return {};
}

json::array arguments_json(const std::vector<Argument>& args) {
  json::array array;
  for (const Argument& argument : args) {
    json::object object{{"name", argument.name},
                        {"type", type_text(argument.type)},
                        {"schema", argument.definition},
                        {"optional", argument.optional},
                        {"dash", argument.dash},
                        {"multiline", argument.multiline},
                        {"max_length", argument.max_length}};
    if (argument.fallback) object["default"] = *argument.fallback;
    if (argument.type == ArgumentType::path) {
      object["below"] = to_utf8(argument.below);
      object["exists"] = argument.exists;
    }
    if (!argument.schemes.empty()) object["schemes"] = strings(argument.schemes);
    if (!argument.hosts.empty()) object["hosts"] = hosts(argument.hosts);
    array.push_back(std::move(object));
  }
  return array;
}

json::array run_json(const std::vector<Template>& run) {
  json::array array;
  for (const Template& element : run) {
    json::array pieces;
    for (const Template::Piece& piece : element.pieces) {
      if (piece.argument.empty())
        pieces.push_back(json::object{{"text", to_utf8(piece.text)}});
      else
        pieces.push_back(json::object{{"argument", piece.argument}});
    }
    array.push_back(std::move(pieces));
  }
  return array;
}

json::object commands_json(const CommandRules& rules) {
  json::array allow;
  for (const std::vector<std::string>& words : rules.allow)
    allow.push_back(strings(words));
  json::object refused;
  for (const auto& [program, flags] : rules.refuse_flags)
    refused[to_utf8(program)] = strings(flags);
  return {{"allow", std::move(allow)}, {"refuse_flags", std::move(refused)}};
}

std::string_view kind_text(ToolKind kind) {
  switch (kind) {
    case ToolKind::builtin:
      return "builtin";
    case ToolKind::command:
      return "command";
    case ToolKind::http:
      return "http";
    case ToolKind::mcp:
      return "mcp";
    case ToolKind::function:
      return "function";
  }
  return {};
}

std::string_view action_text(ScreenAction action) {
  switch (action) {
    case ScreenAction::none:
      return "none";
    case ScreenAction::warn:
      return "warn";
    case ScreenAction::approve:
      return "approve";
    case ScreenAction::block:
      return "block";
  }
  return {};
}

// What the tool runs: the members that its kind has.
void add_kind(json::object& object, const Tool& tool) {
  object["kind"] = kind_text(tool.kind);
  switch (tool.kind) {
    case ToolKind::builtin:
      object["use"] = name_of(tool.builtin);
      if (!tool.methods.empty()) object["methods"] = strings(tool.methods);
      break;
    case ToolKind::command:
      object["run"] = run_json(tool.run);
      break;
    case ToolKind::http:
      object["http"] = json::object{
          {"method", tool.http.method}, {"url", to_utf8(tool.http.url)}, {"body", tool.http.body}};
      if (!tool.http.headers.empty()) {
        json::object headers;
        for (const auto& [name, value] : tool.http.headers)
          headers[name] = to_utf8(value);
        object["http"].as_object()["headers"] = std::move(headers);
      }
      break;
    case ToolKind::mcp:
      object["mcp"] = strings(tool.mcp);
      object["mcp_tools"] = strings(tool.mcp_tools);
      break;
    case ToolKind::function:
      break;
  }
}

json::object output_json(const OutputRules& rules) {
  json::object object{{"redact", strings(rules.redact)}, {"patterns", strings(rules.patterns)}};
  if (rules.schema) object["schema"] = rules.schema_text;
  if (rules.redact_blocks) object["redact_blocks"] = true;
  if (rules.keep) object["keep"] = rules.keep->bytes;
  if (!rules.injection.empty()) object["injection"] = rules.injection;
  return object;
}

json::object approval_json(const ApprovalRule& rule) {
  json::object object{
      {"by", strings(rule.by)}, {"count", rule.count}, {"expires", to_text(rule.expires)}};
  if (rule.when) object["when"] = rule.when_text;
  return object;
}

// Rates, concurrency and limits are not here: the envelope has what became of them.
json::object tool_json(const Tool& tool) {
  json::object object{{"name", tool.name},
                      {"description", to_utf8(tool.description)},
                      {"needs", strings(tool.needs)},
                      {"tier", name_of(tool.tier)},
                      {"args", arguments_json(tool.args)},
                      {"input_json", tool.input_json},
                      {"result_json", tool.result_json},
                      {"collect", strings(tool.collect)},
                      {"environment", string_map(tool.environment)},
                      {"read", files_json(tool.files.read)},
                      {"write", files_json(tool.files.write)},
                      {"write_mode", tool.files.write_mode == WriteMode::copy ? "copy" : "direct"},
                      {"network", network_json(tool.network)},
                      {"share_network", tool.share_network},
                      {"syscalls", tool.syscalls},
                      {"require", strings(tool.require)},
                      {"prefer", strings(tool.prefer)},
                      {"warm", tool.warm},
                      {"preload", strings(tool.preload)},
                      {"irreversible", tool.irreversible},
                      {"credentials", strings(tool.credentials)},
                      {"output", output_json(tool.output)},
                      {"database", to_utf8(tool.database)},
                      {"commands", commands_json(tool.commands)}};
  // Only where it is: the hashes of all other policies stay as they were.
  if (tool.files.client != ClientFiles::none)
    object["client_files"] = tool.files.client == ClientFiles::write ? "write" : "read";
  add_kind(object, tool);
  if (tool.approval) object["approval"] = approval_json(*tool.approval);
  if (tool.rows) object["rows"] = *tool.rows;
  json::object screen;
  for (const auto& [category, action] : tool.screen)
    screen[category] = action_text(action);
  object["screen"] = std::move(screen);
  return object;
}

template <class Value>
json::value limit_json(const Value& value) {
  return json::value(limit_text(value));
}
json::value limit_json(const std::optional<Rate>& value) {
  return value ? json::value(limit_text(*value)) : json::value("unlimited");
}
json::value limit_json(double value) {
  return value;
}
json::value limit_json(unsigned value) {
  return value;
}
json::value limit_json(std::uint64_t value) {
  return value;
}

json::object limits_json(const Limits& limits) {
  json::object object;
#define SALLYPORT_LIMIT_JSON(name, type, sentence) object[#name] = limit_json(limits.name);
  SALLYPORT_LIMITS(SALLYPORT_LIMIT_JSON)
#undef SALLYPORT_LIMIT_JSON
  return object;
}

json::object budget_json(const BudgetRule& rule) {
  json::object object{{"key", rule.key}, {"rule", rule.rule}};
  if (rule.budget.cpu) object["cpu"] = to_text(*rule.budget.cpu);
  if (rule.budget.egress) object["egress"] = to_text(*rule.budget.egress);
  if (rule.budget.calls) object["calls"] = *rule.budget.calls;
  return object;
}

}  // namespace

json::object to_json(const Envelope& envelope) {
  json::object object{
      {"caller", envelope.caller->name},        {"role", envelope.caller->role},
      {"tenant", envelope.caller->tenant},      {"missing", strings(envelope.missing)},
      {"limits", limits_json(envelope.limits)}, {"limit_rules", string_map(envelope.limit_rules)}};
  json::array rates;
  for (const RateRule& rule : envelope.rates)
    rates.push_back(
        json::object{{"key", rule.key}, {"rule", rule.rule}, {"rate", to_text(rule.rate)}});
  object["rates"] = std::move(rates);
  json::array concurrency;
  for (const ConcurrencyRule& rule : envelope.concurrency)
    concurrency.push_back(
        json::object{{"key", rule.key}, {"rule", rule.rule}, {"most", rule.most}});
  object["concurrency"] = std::move(concurrency);
  if (envelope.budget) object["budget"] = budget_json(*envelope.budget);
  object["tables"] = tables_json(envelope.tables);
  json::array denied_files;
  for (const DenyRule& rule : envelope.ceiling->deny_files)
    denied_files.emplace_back(to_utf8(rule.text));
  object["denied_files"] = std::move(denied_files);
  object["denied_hosts"] = hosts(envelope.ceiling->deny_hosts);
  object["tool"] = tool_json(*envelope.tool);
  return object;
}

}  // namespace sallyport
