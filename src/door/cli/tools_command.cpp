#include "door/cli/tools_command.h"

#include <cstdio>

#include "base/json.h"
#include "base/text.h"
#include "door/cli/mixed_words.h"
#include "door/cli/problem.h"
#include "door/cli/process.h"

namespace sallyport {
namespace {

struct FormatText {
  std::string_view name;
  std::optional<DefinitionFormat> format;
};

constexpr FormatText kFormats[] = {
    {"text", std::nullopt},
    {"openai", DefinitionFormat::openai},
    {"anthropic", DefinitionFormat::anthropic},
    {"mcp", DefinitionFormat::mcp},
    {"json", DefinitionFormat::json},
};

Result<void> set_format(ToolsRequest& request, std::string_view text) {
  for (const FormatText& row : kFormats) {
    if (row.name != text) continue;
    request.format = row.format;
    return {};
  }
  return fail(Reason::argument, quoted(text) + " is not a format",
              "write text, openai, anthropic, mcp or json");
}

constexpr Option<ToolsRequest> kToolsOptions[] = {
    {"policy", "FILE", "Options", "The policy file.",
     [](ToolsRequest& request, std::string_view text) {
       request.policy = text;
       return Result<void>();
     }},
    {"as", "CALLER", "Options", "Only tools that this caller may call. Without it: all.",
     [](ToolsRequest& request, std::string_view text) {
       request.caller = text;
       return Result<void>();
     }},
    {"format", "text|openai|anthropic|mcp|json", "Options",
     "The form that an agent's framework wants: a list of function definitions for OpenAI, of "
     "tools for Anthropic, or the answer to MCP's tools/list.",
     set_format, [](const ToolsRequest&) { return std::string("text"); }},
    {"help", "", "Options", "Print this text.",
     [](ToolsRequest& request, std::string_view) {
       request.help = true;
       return Result<void>();
     }},
};

Result<const Caller*> find_caller(const Rules& rules, std::string_view name) {
  const auto found = rules.callers.find(name);
  if (found != rules.callers.end()) return &found->second;
  std::vector<std::string_view> names;
  names.reserve(rules.callers.size());
  for (const auto& [each, caller] : rules.callers)
    names.push_back(each);
  const auto meant = nearest(name, names);
  return fail(Reason::argument, "the policy has no caller " + quoted(name),
              meant ? "did you mean " + quoted(*meant) + "?" : "");
}

std::string words_of(const json::value& list) {
  std::string text;
  for (const json::value& word : list.as_array())
    text.append(text.empty() ? "" : ", ").append(word.as_string());
  return text;
}

// What a list for models does not have: nobody should look for it in vain.
void print_left_out(const Rules& rules, const Caller* caller) {
  std::string names;
  for (const json::value& tool : tool_definitions(rules, caller, DefinitionFormat::json))
    if (const std::string gaps = words_of(tool.at("unavailable")); !gaps.empty())
      names.append(names.empty() ? "" : ", ")
          .append(tool.at("name").as_string())
          .append(" (")
          .append(gaps)
          .append(")");
  if (!names.empty())
    std::fprintf(stderr, "sallyport: left out, because this version refuses every call: %s\n",
                 escape_for_terminal(names).c_str());
}

}  // namespace

Result<ToolsRequest> parse_tools(std::span<const char* const> words) {
  ToolsRequest request;
  const auto others = parse_mixed<ToolsRequest>(kToolsOptions, words, request);
  if (!others) return std::unexpected(others.error());
  if (request.help) return request;
  constexpr std::string_view kUsage = "write `sallyport tools list --policy FILE [--as CALLER]`";
  if (others->size() != 1 || (*others)[0] != "list")
    return fail(Reason::argument,
                others->empty() ? "nothing is asked of the tools"
                                : quoted(others->back()) + " is not a command of tools",
                std::string(kUsage));
  if (request.policy.empty())
    return fail(Reason::argument, "--policy is missing", std::string(kUsage));
  return request;
}

std::string tools_help_text() {
  return R"(Usage: sallyport tools list --policy FILE [--as CALLER] [--format FORMAT]

Lists the tools of a policy, and what they take, for people or for an agent's framework. What is
listed is what the policy allows; a call goes through the gates all the same.

)" + options_help<ToolsRequest>(kToolsOptions, {}) +
         R"(
Exit codes
  0     Listed.
  2     The file or the request is wrong.
)";
}

std::string tools_text(const Rules& rules, const Caller* caller) {
  std::string text;
  for (const json::value& value : tool_definitions(rules, caller, DefinitionFormat::json)) {
    const json::object& tool = value.as_object();
    std::string line(tool.at("name").as_string());
    const std::string gaps = words_of(tool.at("unavailable"));
    const json::object& schema = tool.at("arguments").as_object();
    std::string arguments;
    if (const json::value* properties = schema.if_contains("properties"))
      for (const auto& pair : properties->as_object())
        arguments.append(arguments.empty() ? "" : ", ").append(pair.key());
    text.append(escape_for_terminal(line.append("(").append(arguments).append(")")))
        .append(gaps.empty() ? "\n" : "  [unavailable]\n");
    constexpr std::size_t kIndent = 4;
    if (const json::value* description = tool.if_contains("description"))
      text.append(wrapped(escape_for_terminal(description->as_string()), kIndent));
    if (const std::string needs = words_of(tool.at("needs")); !needs.empty())
      text.append(wrapped("needs " + escape_for_terminal(needs), kIndent));
    if (tool.at("approval").as_bool()) text.append(wrapped("may wait for approval", kIndent));
    if (!gaps.empty())
      text.append(wrapped("every call is refused: this version lacks " + gaps, kIndent));
  }
  return text.empty() ? "No tools.\n" : text;
}

int tools_command(std::span<const char* const> words) {
  const auto request = parse_tools(words);
  if (!request) {
    print_error(request.error());
    return kWrongUsage;
  }
  if (request->help) {
    std::fputs(tools_help_text().c_str(), stdout);
    return 0;
  }
  const auto policy = load_policy_file(request->policy, request->format.has_value());
  if (!policy) return kWrongUsage;
  const Rules& rules = policy->rules();
  const Caller* caller = nullptr;
  if (request->caller) {
    const auto found = find_caller(rules, *request->caller);
    if (!found) {
      report_problem(found.error(), request->format.has_value());
      return kWrongUsage;
    }
    caller = *found;
  }
  if (!request->format) {
    std::fputs(tools_text(rules, caller).c_str(), stdout);
    return 0;
  }
  json::array definitions = tool_definitions(rules, caller, *request->format);
  if (request->format != DefinitionFormat::json) print_left_out(rules, caller);
  const json::value whole = request->format == DefinitionFormat::mcp
                                ? json::value(json::object{{"tools", std::move(definitions)}})
                                : json::value(std::move(definitions));
  std::fputs((json::serialize(whole) + "\n").c_str(), stdout);
  return 0;
}

}  // namespace sallyport
