#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "fetch/order.h"
#include "policy/explain_sections.h"
#include "policy/network_access.h"
#include "policy/schema_text.h"
#include "policy/words.h"

namespace sallyport {
namespace {

std::string shown(std::string_view text) {
  return escape_for_terminal(text);
}

std::string shown_list(const std::vector<std::string>& list, std::string_view last = "and") {
  return escape_for_terminal(list_names(list, last));
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words)
    text.append(text.empty() ? "" : " ").append(shell_quote(word));
  return text;
}

std::string template_text(const Template& element) {
  std::string text;
  for (const Template::Piece& piece : element.pieces)
    text.append(piece.argument.empty() ? piece.text : "{" + piece.argument + "}");
  return text;
}

std::string argv_text(const std::vector<Template>& run) {
  std::string text;
  for (const Template& element : run) {
    if (!text.empty()) text.append(" ");
    const std::string word = template_text(element);
    text.append(element.whole() ? word : shell_quote(word));
  }
  return shown(text);
}

std::string builtin_sentence(const Tool& tool) {
  constexpr std::string_view kWhatever =
      " that the caller writes; assume that it tries whatever its cell leaves open.";
  switch (tool.builtin) {
    case Builtin::run_python:
      return std::string("A Python program").append(kWhatever);
    case Builtin::run_javascript:
      return std::string("A JavaScript program").append(kWhatever);
    case Builtin::run_shell:
      return std::string("A shell script").append(kWhatever);
    case Builtin::run_command:
      return "One command that the caller chooses among those below; no shell reads it.";
    case Builtin::read_file:
      return "Reads a file that the caller names.";
    case Builtin::write_file:
      return "Writes a file that the caller names, with content that the caller gives.";
    case Builtin::edit_file:
      return "Replaces a piece of text in a file that the caller names.";
    case Builtin::list_files:
      return "Lists the files of a directory that the caller names.";
    case Builtin::search_files:
      return "Searches the files of a directory for a text that the caller gives.";
    case Builtin::http_fetch:
      return "Fetches a URL that the caller gives, by " + shown_list(fetch_methods(tool), "or") +
             ", and follows at most " + std::to_string(kMostRedirects) + " redirects.";
    case Builtin::sql:
      return "A query that the caller writes, on the database " + shown(tool.database) + ".";
  }
  return {};
}

ExplainedSection what_it_runs(const Tool& tool) {
  ExplainedSection section{"What it runs", {}};
  switch (tool.kind) {
    case ToolKind::builtin:
      section.facts.push_back({"", builtin_sentence(tool)});
      break;
    case ToolKind::command:
      section.facts.push_back({"", argv_text(tool.run)});
      section.facts.push_back(
          {"", "No shell reads it: each {argument} is one word, or a part of one."});
      break;
    case ToolKind::http:
      section.facts.push_back(
          {"", "An HTTP request: " + shown(tool.http.method) + " " + shown(tool.http.url) + "."});
      for (const auto& [name, value] : tool.http.headers)
        section.facts.push_back({"header", shown(name) + ": " + shown(value)});
      if (!tool.http.body.is_null())
        section.facts.push_back({"body", shown(json::serialize(tool.http.body))});
      section.facts.push_back({"",
                               "Each {argument} is encoded: none becomes another part of the "
                               "URL, another header or another member of the body."});
      break;
    case ToolKind::mcp: {
      section.facts.push_back({"", "An MCP server: " + shown(joined(tool.mcp)) + "."});
      section.facts.push_back({"tools", shown_list(tool.mcp_tools)});
      break;
    }
    case ToolKind::function:
      section.facts.push_back(
          {"",
           "A function of the program that uses the library. It is trusted code: it can do "
           "whatever its program can, and only the gates bound it."});
      break;
  }
  if (tool.kind == ToolKind::builtin && tool.builtin == Builtin::run_command) {
    const auto commands = each_text(tool.commands.allow, [](const std::vector<std::string>& words) {
      return "`" + joined(words) + "`";
    });
    section.facts.push_back({"commands", commands.empty() ? "none" : shown_list(commands)});
    for (const auto& [program, flags] : tool.commands.refuse_flags)
      section.facts.push_back({"refused flags of " + shown(program), shown_list(flags)});
  }
  if (runs_in_cell(tool)) {
    section.facts.push_back({"tier", std::string(name_of(tool.tier))});
    section.facts.push_back({"system calls", "the profile " + shown(tool.syscalls)});
  }
  if (!tool.require.empty()) section.facts.push_back({"requires", shown_list(tool.require)});
  if (!tool.prefer.empty()) section.facts.push_back({"prefers", shown_list(tool.prefer)});
  for (const auto& [name, value] : tool.environment)
    section.facts.push_back({"environment", shown(name) + "=" + shown(value)});
  return section;
}

ExplainedSection what_it_takes(const Tool& tool) {
  ExplainedSection section{"What the caller may give it", {}};
  for (const Argument& argument : tool.args)
    section.facts.push_back({argument.name, argument_sentence(argument)});
  if (tool.args.empty()) section.facts.push_back({"", "No arguments."});
  if (tool.input_json)
    section.facts.push_back({"", "All arguments reach it as one JSON object on standard input."});
  if (tool.kind == ToolKind::mcp)
    section.facts.push_back({"", "The arguments of its tools are declared by the server."});
  if (runs_in_cell(tool) && tool.kind != ToolKind::http)
    section.facts.push_back({"", "Files for its scratch, within its limits."});
  return section;
}

std::string file_sentence(const FileRule& rule) {
  std::string text = shown(rule.host);
  if (rule.names) text.append(", names that match ").append(shown(rule.names_text));
  if (rule.inside != rule.host) text.append(", seen as ").append(shown(rule.inside));
  return text;
}

ExplainedSection what_it_touches(const Rules& rules, const Tool& tool) {
  ExplainedSection section{"What it can read and write on this machine", {}};
  auto& facts = section.facts;
  if (tool.kind == ToolKind::function) {
    facts.push_back({"", "Whatever its program can: it runs in no cell."});
    return section;
  }
  if (tool.kind == ToolKind::http) {
    facts.push_back({"", "Nothing: it only makes a request."});
    return section;
  }
  for (const FileRule& rule : tool.files.read)
    facts.push_back({"read", file_sentence(rule)});
  for (const FileRule& rule : tool.files.write)
    facts.push_back({"read and write", file_sentence(rule)});
  if (!tool.database.empty()) facts.push_back({"database", shown(tool.database)});
  if (tool.files.client != ClientFiles::none)
    facts.push_back({"of its callers",
                     std::string("Whoever calls it as a user of this machine may show it files and "
                                 "directories of their own") +
                         (tool.files.client == ClientFiles::write
                              ? ", also writable: it can do there what that user can."
                              : ", read-only: it can read there what that user can.")});
  if (tool.files.read.empty() && tool.files.write.empty() && tool.files.client == ClientFiles::none)
    facts.push_back({"", "No file or directory of this machine is given to it."});
  if (!tool.files.write.empty())
    facts.push_back({"", tool.files.write_mode == WriteMode::copy
                             ? "Changes are held in the scratch, within its limits, and copied "
                               "back at the end."
                             : "Changes reach this machine at once, and no limit bounds their "
                               "size in all."});
  facts.push_back({"",
                   "Beside that: the programs and libraries of this machine, read-only, and "
                   "an empty scratch that is thrown away."});
  if (!rules.ceiling.deny_files.empty()) {
    const auto denied =
        each_text(rules.ceiling.deny_files, [](const DenyRule& rule) { return rule.text; });
    facts.push_back({"never", shown_list(denied, "or") +
                                  " (a call whose directories hold one of them is refused)"});
  }
  return section;
}

std::string request_sentence(const HttpRequestRule& request) {
  const auto url = fixed_part(request);
  if (!url) return "that of " + shown(request.url);
  return shown(url->host_text()) + " on port " + std::to_string(url->port()) + " by " +
         shown(url->scheme()) + ", that of its request";
}

// Hosts that the credentials of a tool may be sent to count as reachable.
ExplainedSection where_it_reaches(const Rules& rules, const Tool& tool) {
  ExplainedSection section{"What it can reach on the network", {}};
  auto& facts = section.facts;
  if (tool.share_network)
    facts.push_back({"",
                     "EVERYTHING. IT SHARES THE NETWORK OF THIS MACHINE "
                     "(dangerously_share_network): every host and every service that this machine "
                     "can reach, also those that listen on its loopback only. No rule bounds it."});
  for (const HostRule& rule : tool.network.allow)
    facts.push_back({"host", host_sentence(rule)});
  for (const std::string& name : tool.credentials) {
    const auto credential = rules.credentials.find(name);
    if (credential == rules.credentials.end()) continue;
    for (const std::string& host : host_texts(credential->second.to))
      facts.push_back({"host", host + ", with the credential " + shown(name)});
  }
  if (tool.kind == ToolKind::function) {
    facts.push_back({"", "Whatever its program can reach: it runs in no cell."});
    return section;
  }
  if (tool.kind == ToolKind::http) facts.push_back({"host", request_sentence(tool.http)});
  if (facts.empty())
    facts.push_back({"", "Nothing. It has a loopback of its own, and no other interface."});
  if (!tool.network.allow.empty() || !tool.granted.empty() || tool.kind == ToolKind::http) {
    const EgressRules network = network_access(rules.ceiling, tool);
    facts.push_back({"requests", "at most " + std::to_string(network.requests) + " a call"});
    facts.push_back({"sent", "at most " + to_text(network.upload) + " a call"});
    facts.push_back({"received", "at most " + to_text(network.download) + " a call"});
    if (network.time > Duration::zero())
      facts.push_back({"time", "at most " + to_text(network.time) + " a connection"});
  }
  std::vector<std::string> denied = host_texts(tool.network.deny);
  std::ranges::copy(host_texts(rules.ceiling.deny_hosts), std::back_inserter(denied));
  std::ranges::sort(denied);
  const auto repeated = std::ranges::unique(denied);
  denied.erase(repeated.begin(), repeated.end());
  if (!denied.empty()) facts.push_back({"never", list_names(denied, "or")});
  return section;
}

ExplainedSection who_agrees(const Tool& tool) {
  ExplainedSection section{"Whether it waits for a person", {}};
  auto& facts = section.facts;
  if (tool.irreversible)
    facts.push_back({"", tool.approval ? "What it does cannot be undone."
                                       : "What it does cannot be undone, so every call waits for "
                                         "an approval."});
  if (tool.approval) {
    const ApprovalRule& rule = *tool.approval;
    facts.push_back({"", (rule.when ? "Calls whose arguments match " +
                                          shown(json::serialize(rule.when_text)) + " wait"
                                    : std::string("Every call waits")) +
                             " for " + std::to_string(rule.count) +
                             (rule.count == 1 ? " person" : " different people") +
                             (rule.by.empty() ? "" : " of the role " + list_names(rule.by, "or")) +
                             ", never the caller, and lapses after " + to_text(rule.expires) +
                             "."});
  }
  if (facts.empty()) facts.push_back({"", "No: a call that passes runs at once."});
  for (const auto& [category, action] : tool.screen) {
    const std::string what = category == "*" ? "what screening finds" : "`" + category + "` in it";
    if (action == ScreenAction::warn) facts.push_back({"screen", what + " is reported"});
    if (action == ScreenAction::approve) facts.push_back({"screen", what + " needs an approval"});
    if (action == ScreenAction::block) facts.push_back({"screen", what + " refuses the call"});
  }
  return section;
}

ExplainedSection what_comes_back(const Tool& tool) {
  ExplainedSection section{"What comes back", {}};
  auto& facts = section.facts;
  const bool parsed = tool.kind == ToolKind::http && tool.output.schema;
  if (tool.result_json || parsed || tool.kind == ToolKind::function)
    facts.push_back({"", "A JSON value, refused when it is larger than max_result."});
  else
    facts.push_back({"",
                     "What it writes, trimmed to max_output a stream; a structured result is "
                     "refused when it is larger than max_result."});
  if (tool.output.schema)
    facts.push_back({"schema", shown(json::serialize(tool.output.schema_text))});
  if (!tool.collect.empty())
    facts.push_back({"files", "of the scratch that match " + shown_list(tool.collect, "or")});
  if (runs_in_cell(tool) && tool.kind != ToolKind::http)
    facts.push_back({"", "Other files of the scratch, when the caller asks for them."});
  if (!tool.output.redact.empty()) facts.push_back({"redacted", shown_list(tool.output.redact)});
  if (!tool.output.patterns.empty())
    facts.push_back({"redacted too", "what matches " + shown_list(tool.output.patterns, "or")});
  if (tool.output.redact.empty() && tool.output.patterns.empty())
    facts.push_back({"", "Nothing is redacted."});
  return section;
}

ExplainedSection which_credentials(const Rules& rules, const Tool& tool) {
  ExplainedSection section{"Which credentials it uses", {}};
  for (const std::string& name : tool.credentials) {
    const auto found = rules.credentials.find(name);
    if (found == rules.credentials.end()) {
      section.facts.push_back({shown(name), "not in the policy"});
      continue;
    }
    const Credential& credential = found->second;
    const std::vector<std::string> hosts = host_texts(credential.to);
    std::string text = "sent to " + (hosts.empty() ? "no host" : list_names(hosts, "or"));
    if (!credential.methods.empty())
      text.append(", by ").append(shown_list(credential.methods, "or"));
    if (!credential.paths.empty()) text.append(", to ").append(shown_list(credential.paths, "or"));
    if (!credential.places.empty())
      text.append(", in ").append(shown_list(credential.places, "or"));
    section.facts.push_back({shown(name), text + "; the tool itself never sees it"});
  }
  if (section.facts.empty()) section.facts.push_back({"", "None."});
  return section;
}

}  // namespace

bool runs_in_cell(const Tool& tool) {
  return tool.kind != ToolKind::function;
}

std::string host_sentence(const HostRule& rule) {
  std::string text =
      rule.host.to_text() + " on port " + std::to_string(rule.port) + " by " + shown(rule.scheme);
  if (rule.host.covers_subdomains()) text.append(", every name below that domain");
  if (rule.scheme == "tcp") text.append(", opaque: nobody sees what goes over it");
  if (!rule.methods.empty()) text.append(", only ").append(shown_list(rule.methods, "or"));
  if (!rule.paths.empty()) text.append(", only below ").append(shown_list(rule.paths, "or"));
  if (!rule.address.empty()) text.append(", always at ").append(shown(rule.address));
  if (rule.internal) text.append(", also at an internal address");
  if (rule.inspect) text.append(", inspected");
  return text;
}

std::vector<ExplainedSection> tool_sections(const Rules& rules, const Tool& tool) {
  return {what_it_runs(tool),
          what_it_takes(tool),
          what_it_touches(rules, tool),
          where_it_reaches(rules, tool),
          who_agrees(tool),
          what_comes_back(tool),
          which_credentials(rules, tool)};
}

}  // namespace sallyport
