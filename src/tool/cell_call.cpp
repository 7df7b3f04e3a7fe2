#include "tool/cell_call.h"

#include <algorithm>
#include <utility>

#include "base/glob.h"
#include "base/text.h"
#include "cell/client_files.h"
#include "input/command_rules.h"
#include "tool/argv_template.h"
#include "tool/database_grants.h"
#include "tool/fetch_call.h"
#include "tool/file_order.h"
#include "tool/sql_call.h"

namespace sallyport {
namespace {

// Every input is an open descriptor until the cell has started.
constexpr std::size_t kMostFiles = 256;
constexpr std::size_t kMostGlobs = 64;

// A built-in that runs a program of the caller's.
struct Script {
  Builtin builtin;
  Interpreter warm;  // what may wait in place of it
  std::vector<std::string> interpreter;
  const char* name;  // of the program, in the scratch; no file of the caller's may have it
};

const Script* find_script(const Tool& tool) {
  // By name, in the cell's PATH. bash and not sh: it is what models write, and Debian and Ubuntu
  // always have it. -B: nothing is there to read a cache of bytecode again.
  static const Script kScripts[] = {
      {Builtin::run_python, Interpreter::python, {"python3", "-B"}, "main.py"},
      {Builtin::run_javascript, Interpreter::node, {"node"}, "main.js"},
      {Builtin::run_shell, Interpreter::none, {"bash"}, "main.sh"}};
  if (tool.kind != ToolKind::builtin) return nullptr;
  const auto script = std::ranges::find(kScripts, tool.builtin, &Script::builtin);
  return script == std::end(kScripts) ? nullptr : script;
}

std::optional<FileAction> find_file_action(const Tool& tool) {
  if (tool.kind != ToolKind::builtin) return std::nullopt;
  switch (tool.builtin) {
    case Builtin::read_file:
      return FileAction::read;
    case Builtin::write_file:
      return FileAction::write;
    case Builtin::edit_file:
      return FileAction::edit;
    case Builtin::list_files:
      return FileAction::list;
    case Builtin::search_files:
      return FileAction::search;
    default:
      return std::nullopt;
  }
}

Result<std::string> text_argument(const ToolCall& call, std::string_view name) {
  const json::value* value = call.arguments.if_contains(name);
  if (value == nullptr || !value->is_string())
    return fail(Reason::argument, "the argument " + quoted(name) + " must be a string");
  return std::string(value->get_string());
}

Result<std::optional<std::uint64_t>> count_argument(const ToolCall& call, std::string_view name) {
  const json::value* value = call.arguments.if_contains(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_int64() || value->get_int64() < 0)
    return fail(Reason::argument,
                "the argument " + quoted(name) + " must be a whole number from 0");
  return static_cast<std::uint64_t>(value->get_int64());
}

bool flag_argument(const ToolCall& call, std::string_view name) {
  const json::value* value = call.arguments.if_contains(name);
  return value != nullptr && value->is_bool() && value->get_bool();
}

// ---- The scratch

Result<void> check_file_name(const ToolCall& call, std::string_view name) {
  const auto refuse = [name](std::string_view what, std::string hint) {
    return fail(Reason::argument, "the file " + quoted(name) + " " + std::string(what),
                std::move(hint));
  };
  const char* const kHint = "a file's path is relative to /workspace, such as data/input.csv";
  if (name.empty() || name.starts_with('/')) return refuse("has no relative path", kHint);
  if (const auto odd = irregular_component(name))
    return refuse(odd->empty() ? "has an empty name in its path" : "contains " + quoted(*odd),
                  kHint);
  if (name.size() > 1000) return refuse("has a path of more than 1000 bytes", kHint);
  if (escape_for_terminal(name) != name)
    return refuse("has a path that is not plain text", "use printable characters");
  const Script* script = find_script(call.tool);
  // Programs take orders from hidden files in their home: .gitconfig alone would make any `git` run
  // any command. A script is the caller's own anyway.
  if (script == nullptr && (name.starts_with('.') || name.contains("/.")))
    return refuse("is hidden", "names that begin with '.' could configure the tool's program");
  if (script != nullptr &&
      (name == script->name || name.starts_with(script->name + std::string("/"))))
    return refuse("has the name of the program itself", "give it another name");
  return {};
}

Result<void> add_files(const ToolCall& call, CellSpec& spec) {
  const std::vector<CallFile>& files = call.request.files;
  if (files.size() > kMostFiles)
    return fail(Reason::argument, std::to_string(files.size()) + " files are too many",
                "a call takes " + std::to_string(kMostFiles) + " at most");
  std::vector<std::string> names;
  std::uint64_t size = 0;
  for (const CallFile& file : files) {
    if (auto checked = check_file_name(call, file.path); !checked) return checked;
    if (file.content.size() > call.limits.file_size.bytes)
      return fail(Reason::argument,
                  "the file " + quoted(file.path) + " has " + std::to_string(file.content.size()) +
                      " bytes",
                  "the limit file_size is " + to_text(call.limits.file_size));
    size += file.content.size();
    names.push_back(file.path);
    spec.inputs.push_back({.host = {}, .name = file.path, .content = file.content});
  }
  if (size > call.limits.disk.bytes)
    return fail(Reason::argument, "the files have " + std::to_string(size) + " bytes in all",
                "the limit disk is " + to_text(call.limits.disk));
  // With '/' as the least character, a directory comes right before what is in it.
  const auto rank = [](char c) { return c == '/' ? 0 : static_cast<unsigned char>(c) + 1; };
  std::ranges::sort(names, [&](const std::string& a, const std::string& b) {
    return std::ranges::lexicographical_compare(a, b, {}, rank, rank);
  });
  for (std::size_t i = 1; i < names.size(); ++i) {
    if (names[i] == names[i - 1])
      return fail(Reason::argument, "two files have the path " + quoted(names[i]));
    if (names[i].starts_with(names[i - 1] + "/"))
      return fail(Reason::argument,
                  quoted(names[i - 1]) + " cannot be a file and hold " + quoted(names[i]));
  }
  return {};
}

Result<void> add_outputs(const ToolCall& call, CellSpec& spec) {
  if (call.request.collect.size() > kMostGlobs)
    return fail(Reason::argument, "more than " + std::to_string(kMostGlobs) + " globs in collect");
  spec.outputs = call.tool.collect;
  for (const std::string& glob : call.request.collect) {
    if (auto parsed = Glob::parse(glob); !parsed) return std::unexpected(parsed.error());
    if (std::ranges::find(spec.outputs, glob) == spec.outputs.end()) spec.outputs.push_back(glob);
  }
  return {};
}

// ---- Grants

// One grant for all rules about the same place; writable if one of them is.
void add_grant(CellSpec& spec, const FileRule& rule, bool write) {
  for (Grant& grant : spec.grants)
    if (grant.host == rule.host && grant.inside == rule.inside) {
      grant.write = grant.write || write;
      return;
    }
  spec.grants.push_back({.host = rule.host, .inside = rule.inside, .write = write});
}

Result<void> add_grants(const Tool& tool, CellSpec& spec) {
  for (const auto* rules : {&tool.files.read, &tool.files.write})
    for (const FileRule& rule : *rules) {
      // A mount shows the whole directory.
      if (rule.names)
        return fail(Reason::cannot_enforce,
                    "the rule " + quoted(rule.host + "/" + rule.names_text) +
                        " names files by a glob, which only the file tools can be held to",
                    "grant a directory");
      add_grant(spec, rule, rules == &tool.files.write);
    }
  return {};
}

// ---- What runs

Result<void> add_command(const ToolCall& call, CellSpec& spec) {
  auto argv = fill_templates(call.tool, call.arguments);
  if (!argv) return std::unexpected(std::move(argv.error()));
  spec.command = std::move(*argv);
  return {};
}

Result<void> add_script(const ToolCall& call, const Script& script, CellSpec& spec) {
  auto code = text_argument(call, "code");
  if (!code) return std::unexpected(std::move(code.error()));
  spec.command = script.interpreter;
  spec.command.push_back(std::string("/workspace/") + script.name);
  spec.inputs.push_back({.host = {}, .name = script.name, .content = std::move(*code)});
  return {};
}

// Files that the caller sends can look like a bare repository, whose configuration starts programs.
// Settings from the environment outrank it. git may also be started by another word (env, xargs,
// sh -c), so they are always there.
void add_git_settings(CellSpec& spec) {
  constexpr std::pair<std::string_view, std::string_view> kGitSettings[] = {
      {"safe.bareRepository", "explicit"},
      {"core.fsmonitor", "false"},
      {"core.hooksPath", "/dev/null"},
  };
  std::size_t count = 0;
  for (const auto& [key, value] : kGitSettings) {
    const std::string number = std::to_string(count++);
    spec.environment.emplace_back("GIT_CONFIG_KEY_" + number, key);
    spec.environment.emplace_back("GIT_CONFIG_VALUE_" + number, value);
  }
  spec.environment.emplace_back("GIT_CONFIG_COUNT", std::to_string(count));
}

// The gates have looked at the same text; what runs are the words that this look allows.
Result<void> add_allowed_command(const ToolCall& call, CellSpec& spec) {
  auto text = text_argument(call, "command");
  if (!text) return std::unexpected(std::move(text.error()));
  auto command = parse_command(*text);
  if (!command) return std::unexpected(std::move(command.error()));
  auto words = check_command(call.tool.commands, *command);
  if (!words) return std::unexpected(std::move(words.error()));
  spec.command = std::move(*words);
  add_git_settings(spec);
  return {};
}

Result<void> add_search(const ToolCall& call, FileOrder& order) {
  auto pattern = text_argument(call, "pattern");
  auto context = count_argument(call, "context");
  if (!pattern) return std::unexpected(std::move(pattern.error()));
  if (!context) return std::unexpected(std::move(context.error()));
  order.pattern = std::move(*pattern);
  order.context = context->value_or(0);
  order.regex = flag_argument(call, "regex");
  order.ignore_case = flag_argument(call, "ignore_case");
  if (call.arguments.contains("names")) {
    auto names = text_argument(call, "names");
    if (!names) return std::unexpected(std::move(names.error()));
    order.names = std::move(*names);
  }
  return {};
}

Result<FileOrder> make_order(const ToolCall& call, FileAction action) {
  FileOrder order;
  order.max_answer = call.limits.max_result.bytes;
  const bool of_directory = action == FileAction::list || action == FileAction::search;
  if (!of_directory || call.arguments.contains("path")) {
    auto path = text_argument(call, "path");
    if (!path) return std::unexpected(std::move(path.error()));
    order.path = std::move(*path);
  }
  if (action == FileAction::read) {
    auto offset = count_argument(call, "offset");
    auto length = count_argument(call, "length");
    if (!offset || !length) return std::unexpected((!offset ? offset : length).error());
    order.offset = offset->value_or(0);
    order.length = *length;
  }
  if (action == FileAction::write) {
    auto content = text_argument(call, "content");
    if (!content) return std::unexpected(std::move(content.error()));
    order.content = std::move(*content);
    order.append = flag_argument(call, "append");
  }
  if (action == FileAction::edit) {
    auto old_text = text_argument(call, "old");
    auto new_text = text_argument(call, "new");
    if (!old_text || !new_text) return std::unexpected((!old_text ? old_text : new_text).error());
    order.old_text = std::move(*old_text);
    order.new_text = std::move(*new_text);
    order.all = flag_argument(call, "all");
  }
  if (action == FileAction::list) order.recursive = flag_argument(call, "recursive");
  if (action == FileAction::search)
    if (auto added = add_search(call, order); !added)
      return std::unexpected(std::move(added.error()));
  if (call.envelope.ceiling != nullptr)
    for (const DenyRule& rule : call.envelope.ceiling->deny_files)
      order.denied.push_back(rule.text);
  return order;
}

constexpr std::string_view kSqlWork = "sql", kFetchWork = "fetch";

bool is_sql(const Tool& tool) {
  return tool.kind == ToolKind::builtin && tool.builtin == Builtin::sql;
}

// Our own program does the work of the file tools, of sql and of requests, with the tool's places
// and nothing else in sight.
bool runs_own_program(const Tool& tool) {
  return find_file_action(tool).has_value() || is_sql(tool) || makes_request(tool);
}

std::vector<std::string> own_command(std::string_view work) {
  return {std::string(kProgramInside), "in-cell", std::string(work)};
}

void add_program(const std::string& program, CellSpec& spec) {
  spec.grants.push_back({.host = program, .inside = std::string(kProgramInside), .write = false});
}

Result<void> add_own_program(const ToolCall& call, std::string_view work, std::string order,
                             CellSpec& spec) {
  if (call.request.input || !call.request.files.empty() || !call.request.collect.empty())
    return fail(Reason::argument, "this tool takes neither standard input nor files",
                "give everything in its arguments");
  if (call.program.empty())
    return fail(Reason::unavailable, "the sallyport program, which this tool runs, is not known",
                "name it in BoundaryOptions::program");
  add_program(call.program, spec);
  spec.command = own_command(work);
  spec.input = std::move(order);
  return {};
}

// The tool's places, in the order in which the program is told of them.
template <class Use>
void each_place(const FileRules& files, FileAction action, Use use) {
  const bool writes = action == FileAction::write || action == FileAction::edit;
  if (!writes)
    for (const FileRule& rule : files.read)
      use(rule, false);
  for (const FileRule& rule : files.write)
    use(rule, writes);
}

Result<void> add_file_work(const ToolCall& call, FileAction action, CellSpec& spec) {
  auto order = make_order(call, action);
  if (!order) return std::unexpected(std::move(order.error()));
  each_place(call.tool.files, action, [&](const FileRule& rule, bool write) {
    add_grant(spec, rule, write);
    order->places.push_back({.inside = rule.inside,
                             .names = rule.names ? rule.names_text : std::string(),
                             .host = rule.host});
  });
  return add_own_program(call, name_of(action), to_text(*order), spec);
}

Result<void> add_sql_work(const ToolCall& call, CellSpec& spec) {
  auto order = make_sql_order(call);
  if (!order) return std::unexpected(std::move(order.error()));
  spec.grants = database_grants(call.tool);
  return add_own_program(call, kSqlWork, to_text(*order), spec);
}

Result<void> add_fetch_work(const ToolCall& call, CellSpec& spec) {
  auto order = make_fetch_order(call);
  if (!order) return std::unexpected(std::move(order.error()));
  return add_own_program(call, kFetchWork, to_text(*order), spec);
}

Result<void> add_work(const ToolCall& call, CellSpec& spec) {
  if (call.tool.kind == ToolKind::command) return add_command(call, spec);
  if (const Script* script = find_script(call.tool)) return add_script(call, *script, spec);
  if (const auto action = find_file_action(call.tool)) return add_file_work(call, *action, spec);
  if (is_sql(call.tool)) return add_sql_work(call, spec);
  if (makes_request(call.tool)) return add_fetch_work(call, spec);
  if (call.tool.kind == ToolKind::builtin && call.tool.builtin == Builtin::run_command)
    return add_allowed_command(call, spec);
  return fail(Reason::unavailable,
              "the tool " + quoted(call.tool.name) + " is of a kind that cannot be run yet");
}

// What the caller shows of its own; the launcher has seen it and decides.
Result<void> add_client(const ToolCall& call, CellSpec& spec) {
  if (!call.request.client) return {};
  spec.client.ticket = call.request.client->ticket;
  spec.client.uid = call.request.client->uid;
  for (const CallClientFile& file : call.request.client->files)
    spec.client.files.push_back({.host = file.path, .inside = file.inside, .write = file.write});
  return check_client_places(spec);
}

Result<void> add_input(const ToolCall& call, CellSpec& spec) {
  if (call.tool.input_json && call.request.input)
    return fail(Reason::argument, "standard input of this tool is its arguments",
                "give everything in `arguments`");
  if (call.tool.input_json)
    spec.input = canonical_json(call.arguments) + "\n";
  else if (call.request.input)
    spec.input = call.request.input;
  return {};
}

// What does not depend on the one call, beside grants.
Result<void> add_rules(const Tool& tool, const Limits& limits, CellSpec& spec) {
  spec.warm = warmth_of(tool);
  spec.use_stdin = spec.input.has_value();
  spec.write_mode = tool.files.write_mode;
  if (!tool.syscalls.empty()) spec.syscalls = tool.syscalls;
  for (const std::string& text : tool.require) {
    auto requirement = parse_requirement(text);
    if (!requirement) return std::unexpected(std::move(requirement.error()));
    spec.requirements.push_back(std::move(*requirement));
  }
  spec.limits = limits;
  spec.limits.max_output = captured_output(tool, limits);
  return {};
}

}  // namespace

Warmth warmth_of(const Tool& tool) {
  const Script* script = find_script(tool);
  if (!tool.warm || script == nullptr || script->warm == Interpreter::none) return {};
  // What is to be different from the start cannot have started.
  for (const auto& [name, value] : tool.environment)
    if (is_read_at_start(script->warm, name)) return {};
  return {.interpreter = script->warm, .preload = tool.preload};
}

std::vector<std::string> sql_tool_command() {
  return own_command(kSqlWork);
}

bool answers_json(const Tool& tool) {
  // The body of an `http` tool is whatever its server sends, unless the policy says more.
  if (tool.kind == ToolKind::http) return tool.result_json || tool.output.schema.has_value();
  return tool.result_json || runs_own_program(tool);
}

ByteSize captured_output(const Tool& tool, const Limits& limits) {
  std::uint64_t most =
      std::max(limits.max_output.bytes, tool.output.keep.value_or(ByteSize{}).bytes);
  if (tool.output.redacts()) most += 2 * kCutMargin;
  if (answers_json(tool)) most = std::max(most, limits.max_result.bytes + 1);
  return {most};
}

Result<CellSpec> command_frame(const Tool& tool) {
  CellSpec spec;
  spec.environment.assign(tool.environment.begin(), tool.environment.end());
  add_git_settings(spec);
  if (auto added = add_grants(tool, spec); !added) return std::unexpected(std::move(added.error()));
  spec.outputs = tool.collect;
  spec.write_mode = tool.files.write_mode;
  if (!tool.syscalls.empty()) spec.syscalls = tool.syscalls;
  return spec;
}

Result<CellSpec> make_cell_spec(const ToolCall& call) {
  const Tool& tool = call.tool;
  if (tool.tier != Tier::process)
    return fail(Reason::unavailable,
                "the tier " + std::string(name_of(tool.tier)) + " is not a cell of this kind",
                "the tier `process` is there");
  CellSpec spec;
  // First: what a built-in sets for its program outranks it.
  spec.environment.assign(tool.environment.begin(), tool.environment.end());
  if (auto added = add_work(call, spec); !added) return std::unexpected(std::move(added.error()));
  if (!runs_own_program(tool)) {
    for (auto* step : {add_input, add_files, add_outputs})
      if (auto added = step(call, spec); !added) return std::unexpected(std::move(added.error()));
    if (auto added = add_grants(tool, spec); !added)
      return std::unexpected(std::move(added.error()));
    if (auto added = add_client(call, spec); !added)
      return std::unexpected(std::move(added.error()));
  }
  if (auto added = add_rules(tool, call.limits, spec); !added)
    return std::unexpected(std::move(added.error()));
  return spec;
}

Result<CellSpec> make_likely_spec(const Tool& tool, const Limits& limits,
                                  const std::string& program) {
  const auto action = find_file_action(tool);
  if (tool.tier != Tier::process || (runs_own_program(tool) && !action))
    return fail(Reason::unavailable, "its cells are made for one call");
  CellSpec spec;
  if (action) {
    each_place(tool.files, *action,
               [&](const FileRule& rule, bool write) { add_grant(spec, rule, write); });
    add_program(program, spec);
    spec.input.emplace();
  } else if (auto added = add_grants(tool, spec); !added) {
    return std::unexpected(std::move(added.error()));
  }
  if (tool.input_json) spec.input.emplace();
  if (auto added = add_rules(tool, limits, spec); !added)
    return std::unexpected(std::move(added.error()));
  return spec;
}

}  // namespace sallyport
