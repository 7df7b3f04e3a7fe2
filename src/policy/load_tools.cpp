// Tools, and what a tool has that says nothing.
#include <algorithm>

#include "base/layer.h"
#include "base/text.h"
#include "input/postgres_address.h"
#include "policy/load.h"

namespace sallyport {
namespace {

constexpr std::string_view kTiers[] = {"inline", "thread", "process", "wasm", "container", "vm"};
constexpr std::string_view kProfiles[] = {"default", "python-data", "node", "build"};

// "numpy", "xml.dom": what Python's `import` takes.
std::optional<std::string> read_module(const Spot& at) {
  auto text = read_text(at);
  if (!text) return std::nullopt;
  for (std::string_view rest = *text;;) {
    const std::size_t end = rest.find('.');
    if (auto checked = check_name(rest.substr(0, end), NameKind::variable); !checked) {
      at.refuse(quoted(*text) + " is no module of Python", "write a name such as numpy or xml.dom");
      return std::nullopt;
    }
    if (end == std::string_view::npos) return text;
    rest.remove_prefix(end + 1);
  }
}

std::optional<Tier> read_tier(const Spot& at) {
  const auto word = read_choice(at, kTiers);
  if (!word) return std::nullopt;
  return static_cast<Tier>(std::ranges::find(kTiers, *word) - std::begin(kTiers));
}

std::optional<std::string> read_profile(const Spot& at) {
  return read_choice(at, kProfiles);
}

// LAYER or LAYER:LEVEL
std::optional<std::string> read_layer(const Spot& at) {
  auto text = read_text(at);
  if (!text) return std::nullopt;
  if (auto requirement = parse_requirement(*text); !requirement) {
    at.refuse(requirement.error());
    return std::nullopt;
  }
  return text;
}

std::optional<std::map<std::string, std::string>> read_environment(const Spot& at) {
  std::map<std::string, std::string> environment;
  for_each_entry(at, [&](const Node& key, const Spot& value) {
    if (!check_key(value, key, NameKind::variable)) return;
    auto text = read_text_or_empty(value);
    if (text && text->contains('\0')) return value.refuse("the value holds a NUL");
    if (text) environment[key.text] = std::move(*text);
  });
  if (at.node().kind != Node::Kind::map) return std::nullopt;
  return environment;
}

template <auto Member, auto Read>
void add_to(const Spot& at, Tool& tool) {
  if (auto values = Read(at))
    for (auto& [key, value] : *values)
      (tool.*Member)[key] = std::move(value);
}

void add_limits(const Spot& at, Tool& tool) {
  if (const auto limits = read_limits(at)) merge_limits(tool.limits, *limits);
}

// `redact` and `patterns` add up; a schema or a way to treat injections replaces the default.
void add_output(const Spot& at, Tool& tool) {
  auto output = read_output(at);
  if (!output) return;
  const auto add = [](std::vector<std::string>& base, std::vector<std::string>& more) {
    for (std::string& text : more)
      if (std::ranges::find(base, text) == base.end()) base.push_back(std::move(text));
  };
  add(tool.output.redact, output->redact);
  add(tool.output.patterns, output->patterns);
  if (output->schema) {
    tool.output.schema = std::move(output->schema);
    tool.output.schema_text = std::move(output->schema_text);
  }
  tool.output.redact_blocks |= output->redact_blocks;
  if (output->keep) tool.output.keep = output->keep;
  if (!output->injection.empty()) tool.output.injection = std::move(output->injection);
}

constexpr auto read_concurrency = count_between<1, 1'000'000, unsigned>;

constexpr std::string_view kEnvironmentValue =
    R"({"type": "object", "additionalProperties": {"type": "string"}})";
constexpr std::string_view kTierValue =
    R"({"enum": ["inline", "thread", "process", "wasm", "container", "vm"]})";
constexpr std::string_view kProfileValue =
    R"({"enum": ["default", "python-data", "node", "build"]})";
constexpr std::string_view kScreenValue = R"({"$ref": "#/$defs/screen"})";

constexpr Field<Tool> kDefaults[] = {
    {"tier", kTierValue, "How tools run; `process`.", into<&Tool::tier, read_tier>},
    {"rate", kRatesValue, "How often all callers of a tenant together may call one tool.",
     into<&Tool::rates, read_rates>},
    {"concurrency", kCountValue, "How many calls of one tool may be in flight.",
     into<&Tool::concurrency, read_concurrency>},
    {"limits", kLimitsValue, "What a call may spend; a tool may replace each of them.", add_limits},
    {"network", R"({"$ref": "#/$defs/network"})", "What tools may reach; `none`.",
     into<&Tool::network, read_network>},
    {"syscalls", kProfileValue, "The system calls of tools, as a named profile.",
     into<&Tool::syscalls, read_profile>},
    {"require", kTextsValue, "Kernel layers without which no tool runs.",
     into<&Tool::require, read_list<read_layer>>},
    {"prefer", kTextsValue, "Kernel layers that are used where there are any.",
     into<&Tool::prefer, read_list<read_layer>>},
    {"environment", kEnvironmentValue, "Environment variables of all tools.",
     add_to<&Tool::environment, read_environment>},
    {"screen", kScreenValue, "What is done with code that looks dangerous.",
     add_to<&Tool::screen, read_screen>},
    {"output", R"({"$ref": "#/$defs/output"})", "What may come back.", add_output},
};

// --- one tool

bool is_file_tool(const Tool& tool) {
  return tool.kind == ToolKind::builtin &&
         (tool.builtin == Builtin::read_file || tool.builtin == Builtin::write_file ||
          tool.builtin == Builtin::edit_file || tool.builtin == Builtin::list_files ||
          tool.builtin == Builtin::search_files);
}

void read_use(const Spot& at, Tool& tool) {
  const auto name = read_choice(at, builtin_names());
  if (!name) return;
  tool.kind = ToolKind::builtin;
  tool.builtin = *find_builtin(*name);
  tool.args = arguments_of(tool.builtin);
}

void read_args(const Spot& at, Tool& tool) {
  if (tool.kind == ToolKind::builtin || tool.kind == ToolKind::mcp)
    return at.refuse("the arguments of this tool are given by what it uses",
                     "leave `args` out; a `run` tool takes arguments of your own");
  if (auto args = read_arguments(at)) tool.args = std::move(*args);
}

void read_run(const Spot& at, Tool& tool) {
  tool.kind = ToolKind::command;
  for_each_item(at, [&](const Spot& item) {
    const auto text = read_text_or_empty(item);
    if (!text) return;
    auto element = parse_template(*text, tool);
    if (!element) return item.refuse(element.error());
    tool.run.push_back(std::move(*element));
  });
  if (at.node().kind != Node::Kind::list) return;
  if (at.node().items.empty())
    return at.refuse("the command is empty", "write [/usr/bin/program, --option, \"{name}\"]");
  if (tool.run.size() != at.node().items.size()) return;
  const Template& program = tool.run[0];
  const Spot first(at, at.node().items[0], 0, nullptr);
  if (program.pieces.size() != 1 || !program.pieces[0].argument.empty())
    return first.refuse("the program itself cannot be an argument",
                        "write its path, such as /usr/bin/program");
  const std::string& path = program.pieces[0].text;
  const bool bare = !path.contains('/');
  if (path.empty() || path == "." || path == ".." ||
      (!bare && (!path.starts_with('/') || irregular_component(path))))
    first.refuse(quoted(path) + " is neither an absolute path nor the bare name of a program",
                 "write it as /usr/bin/program or program");
}

void read_mcp(const Spot& at, Tool& tool) {
  tool.kind = ToolKind::mcp;
  for_each_item(at, [&](const Spot& item) {
    if (auto word = read_text(item)) tool.mcp.push_back(std::move(*word));
  });
  if (at.node().kind == Node::Kind::list && at.node().items.empty())
    at.refuse("the command line is empty", "write the program of the MCP server");
}

void read_http(const Spot& at, Tool& tool) {
  tool.kind = ToolKind::http;
  read_http_request(at, tool.http);
}

void read_fetch_methods(const Spot& at, Tool& tool) {
  tool.methods = read_list<read_http_method>(at).value_or(std::vector<std::string>());
  if (at.node().kind == Node::Kind::list && at.node().items.empty())
    at.refuse("no method is allowed, and so no call", "write [GET], or take the tool out");
}

void read_input(const Spot& at, Tool& tool) {
  constexpr std::string_view kInputs[] = {"none", "json"};
  if (const auto word = read_choice(at, kInputs)) tool.input_json = *word == "json";
}

void read_result(const Spot& at, Tool& tool) {
  constexpr std::string_view kResults[] = {"text", "json"};
  if (const auto word = read_choice(at, kResults)) tool.result_json = *word == "json";
}

std::optional<std::string> read_glob(const Spot& at) {
  auto text = read_text(at);
  if (!text) return std::nullopt;
  if (auto glob = Glob::parse(*text); !glob) {
    at.refuse(glob.error());
    return std::nullopt;
  }
  return text;
}

void read_tool_files(const Spot& at, Tool& tool) {
  auto files = read_files(at, is_file_tool(tool));
  if (!files) return;
  tool.files = std::move(*files);
  const Node* client = at.node().find("client");
  if (client == nullptr) return;
  if (tool.kind != ToolKind::builtin || tool.builtin != Builtin::run_command)
    at.refuse_at(client->place, "only a tool with `use: run_command` can be shown files by callers",
                 "leave `client` out");
  if (tool.files.client == ClientFiles::write && tool.files.write_mode == WriteMode::copy)
    at.refuse_at(client->place, "what a caller shows is written to directly, and not as a copy",
                 "write `client: read`, or leave `write_mode` out");
}

void read_tool_approval(const Spot& at, Tool& tool) {
  tool.approval = read_approval(at);
  if (!tool.approval || tool.kind == ToolKind::mcp) return;
  const Node* when = at.node().find("when");
  if (!when) return;
  std::vector<std::string_view> names;
  names.reserve(tool.args.size());
  for (const Argument& argument : tool.args)
    names.push_back(argument.name);
  json::value ignored;
  for (const NodeEntry& entry : when->entries)
    if (!tool.find_argument(entry.key.text)) {
      const auto meant = nearest(entry.key.text, names);
      at.refuse_key(
          "when." + entry.key.text, entry.key.place,
          "the tool has no argument " + quoted(entry.key.text),
          meant ? "did you mean '" + std::string(*meant) + "'?" : "name an argument of the tool");
    }
}

// The first words of what may run: "git status" is {"git", "status"}.
void read_commands(const Spot& at, Tool& tool) {
  for_each_item(at, [&](const Spot& item) {
    const auto text = read_text(item);
    if (!text) return;
    const auto command = parse_command(*text);
    if (!command) return item.refuse(command.error());
    CommandRules alone;
    alone.allow.push_back(command->words());
    if (auto checked = check_command_rules(alone); !checked) return item.refuse(checked.error());
    json::array words;
    for (const std::string& word : command->words())
      words.emplace_back(word);
    item.means(std::move(words));
    tool.commands.allow.push_back(command->words());
  });
}

void read_refused_flags(const Spot& at, Tool& tool) {
  for_each_entry(at, [&](const Node& key, const Spot& value) {
    auto flags = read_list<read_text>(value);
    if (!flags) return;
    CommandRules alone;
    alone.allow.push_back({key.text});
    alone.refuse_flags[key.text] = *flags;
    if (auto checked = check_command_rules(alone); !checked) return value.refuse(checked.error());
    const bool allowed = std::ranges::any_of(tool.commands.allow, [&](const auto& words) {
      return !words.empty() && words[0] == key.text;
    });
    if (!allowed)
      return value.refuse_at(key.place, quoted(key.text) + " is not among the commands",
                             "leave it out, or add it to `commands`");
    tool.commands.refuse_flags[key.text] = std::move(*flags);
  });
}

void read_share_network(const Spot& at, Tool& tool) {
  tool.share_network = read_switch(at).value_or(false);
  if (tool.share_network)
    at.warn(
        "the tool has the network of this machine itself: every host and service that this "
        "machine reaches, its loopback too",
        "take it out, and list the hosts that are meant under network.allow");
}

void read_database(const Spot& at, Tool& tool) {
  auto text = read_text(at);
  if (!text) return;
  constexpr std::string_view kFile = "sqlite:";
  if (text->starts_with("postgres")) {
    if (const auto address = PostgresAddress::parse(*text); !address)
      return at.refuse(address.error().message, address.error().hint);
  } else if (!text->starts_with("sqlite:/")) {
    return at.refuse(quoted(*text) + " is not a database",
                     "write sqlite:/PATH or postgres://HOST/NAME");
  } else {
    if (const std::string_view path = std::string_view(*text).substr(kFile.size());
        path == "/" || irregular_component(path) || escape_for_terminal(path) != path)
      return at.refuse(quoted(path) + " is not the path of a file",
                       "write the absolute path of the database, without . and ..");
  }
  tool.database = std::move(*text);
}

std::optional<std::string> read_word(const Spot& at) {
  return read_name(at);
}

constexpr Field<Tool> kTool[] = {
    {"use",
     R"({"enum": ["run_python", "run_javascript", "run_shell", "run_command", "read_file", "write_file", "edit_file", "list_files", "search_files", "http_fetch", "sql"]})",
     "A built-in tool to start from. A tool has one of `use`, `run`, `http` and `mcp`.", read_use},
    {"description", kTextValue, "What it does, for models and people.",
     into<&Tool::description, read_text>},
    {"needs", kPermissionsValue, "The permissions that a caller must have; `[]` for none.",
     into<&Tool::needs, read_list<read_permission>>, Presence::required},
    {"tier", kTierValue, "How it runs; `inline` and `thread` are functions of the host program.",
     into<&Tool::tier, read_tier>},
    {"args", R"({"type": "object", "additionalProperties": {"$ref": "#/$defs/argument"}})",
     "Its arguments by name. What is not declared is refused.", read_args},
    {"run", R"({"type": "array", "items": {"type": "string"}, "minItems": 1})",
     "A command as an argv, never a shell; `{name}` is an argument, `{arguments}` all as JSON, "
     "`{{` a brace.",
     read_run},
    {"http", R"({"$ref": "#/$defs/http"})", "An HTTP request.", read_http},
    {"mcp", R"({"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1})",
     "The command line of an MCP server, which runs in a cell; its tools appear as NAME_*.",
     read_mcp},
    {"tools", kTextsValue, "mcp: the tools of the server that may be used.",
     into<&Tool::mcp_tools, read_list<read_word>>},
    {"input", R"({"enum": ["none", "json"]})",
     "run: `json` gives all arguments as one JSON object on standard input.", read_input},
    {"result", R"({"enum": ["text", "json"]})",
     "run, http: `json` is parsed, checked and returned as data; `text`.", read_result},
    {"collect", kTextsValue, "Globs of files of the scratch that come back as artifacts.",
     into<&Tool::collect, read_list<read_glob>>},
    {"environment", kEnvironmentValue, "Environment variables, added to those of `defaults`.",
     add_to<&Tool::environment, read_environment>},
    {"rate", kRatesValue, "How often all callers of a tenant together may call it.",
     into<&Tool::rates, read_rates>},
    {"concurrency", kCountValue, "How many of its calls may be in flight.",
     into<&Tool::concurrency, read_concurrency>},
    {"limits", kLimitsValue, "What a call may spend, in place of `defaults`.", add_limits},
    {"files", R"({"$ref": "#/$defs/files"})", "What it sees of the host's files.", read_tool_files},
    {"network", R"({"$ref": "#/$defs/network"})", "What it may reach.",
     into<&Tool::network, read_network>},
    {"dangerously_share_network", kSwitchValue,
     "It has the network of this machine itself, and no rule bounds what it reaches.",
     read_share_network},
    {"syscalls", kProfileValue, "Its system calls, as a named profile.",
     into<&Tool::syscalls, read_profile>},
    {"require", kTextsValue, "Kernel layers without which it does not run.",
     into<&Tool::require, read_list<read_layer>>},
    {"prefer", kTextsValue, "Kernel layers that are used where there are any.",
     into<&Tool::prefer, read_list<read_layer>>},
    {"commands", kTextsValue, "run_command: the first words of what may run, such as `git status`.",
     read_commands},
    {"refuse_flags",
     R"({"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}})",
     "run_command: flags that a program may not be given.", read_refused_flags},
    {"methods", R"({"$ref": "#/$defs/methods"})",
     "http_fetch: the HTTP methods that may be used; GET and HEAD when it is left out.",
     read_fetch_methods},
    {"screen", kScreenValue, "What is done with code that looks dangerous.",
     add_to<&Tool::screen, read_screen>},
    {"warm", kSwitchValue, "An interpreter that has started already waits for the call.",
     into<&Tool::warm, read_switch>},
    {"preload", kTextsValue, "Modules of Python that it has imported.",
     into<&Tool::preload, read_list<read_module>>},
    {"irreversible", kSwitchValue, "It cannot be undone: asks for an idempotency key and approval.",
     into<&Tool::irreversible, read_switch>},
    {"approval", R"({"$ref": "#/$defs/approval"})", "People who must agree first.",
     read_tool_approval},
    {"credentials", kTextsValue, "Credentials that it may use, and so reach their hosts.",
     into<&Tool::credentials, read_list<read_name>>},
    {"output", R"({"$ref": "#/$defs/output"})", "What may come back.", add_output},
    {"database", kTextValue, "sql: `sqlite:/PATH` or `postgres://HOST/NAME`.", read_database},
    {"tables", R"({"$ref": "#/$defs/tables"})", "sql: the tables and columns that may be read.",
     into<&Tool::tables, read_tables>},
    {"rows", kCountValue, "sql: how many rows come back at most.",
     into<&Tool::rows, count_between<1, 10'000'000>>},
};

void read_tool(const Spot& at, const Node& key, Rules& rules) {
  Tool tool = rules.defaults;
  tool.name = key.text;
  tool.place = key.place;
  tool.kind = ToolKind::function;
  constexpr std::string_view kWhat[] = {"use", "run", "http", "mcp"};
  std::vector<std::string_view> given;
  if (at.node().kind == Node::Kind::map)
    for (const std::string_view what : kWhat)
      if (at.node().find(what)) given.push_back(what);

  const std::size_t problems = at.notes().problems.size();
  if (!read_section<Tool>(at, kTool, tool)) return;
  if (given.size() > 1)
    return at.refuse(
        "the tool has both '" + std::string(given[0]) + "' and '" + std::string(given[1]) + "'",
        "a tool has one of use, run, http and mcp");
  if (given.empty() && tool.tier != Tier::inline_call && tool.tier != Tier::thread)
    return at.refuse("the tool does not say what it is",
                     "write one of use, run, http and mcp; or tier: inline or tier: thread for a "
                     "function of the host program");
  if (at.notes().problems.size() == problems) {
    check_tool(at, tool);
    check_argv(at, tool);
  }
  rules.tools.emplace(key.text, std::move(tool));
}

}  // namespace

std::string_view name_of(Tier tier) {
  return kTiers[static_cast<std::size_t>(tier)];
}

const Argument* Tool::find_argument(std::string_view wanted) const {
  const auto found = std::ranges::find(args, wanted, &Argument::name);
  return found == args.end() ? nullptr : &*found;
}

void read_defaults(const Spot& at, Rules& rules) {
  read_section<Tool>(at, kDefaults, rules.defaults);
}

void read_tools(const Spot& at, Rules& rules) {
  for_each_entry(at, [&](const Node& key, const Spot& value) {
    if (check_key(value, key, NameKind::plain)) read_tool(value, key, rules);
  });
}

SectionText defaults_section() {
  return {"defaults", "What a tool has that says nothing. A tool may replace it.",
          texts_of<Tool>(kDefaults)};
}
SectionText tool_section() {
  return {"tool", "One tool. Everything that is not granted here is denied.",
          texts_of<Tool>(kTool)};
}

}  // namespace sallyport
