#include "door/cli/call_options.h"

#include <algorithm>

#include "base/text.h"
#include "door/cli/mixed_words.h"
#include "door/cli/values.h"

namespace sallyport {
namespace {

constexpr std::string_view kWho = "Who and what";
constexpr std::string_view kFiles = "Files";
constexpr std::string_view kHow = "How";

template <auto Field>
Result<void> set(CallCommand& command, std::string_view value) {
  command.*Field = std::string(value);
  return {};
}

template <auto Field>
Result<void> set_request(CallCommand& command, std::string_view value) {
  command.request.*Field = std::string(value);
  return {};
}

template <auto Field>
Result<void> turn_on(CallCommand& command, std::string_view) {
  command.*Field = true;
  return {};
}

Result<void> add_input(CallCommand& command, std::string_view value) {
  auto input = parse_input_file(value);
  if (!input) return std::unexpected(input.error());
  command.inputs.push_back(std::move(*input));
  return {};
}

Result<void> add_limit(CallCommand& command, std::string_view value) {
  const std::size_t equals = value.find('=');
  if (equals == std::string_view::npos)
    return fail(Reason::argument, quoted(value) + " is not NAME=VALUE", "for example timeout=5s");
  const std::string name(value.substr(0, equals));
  if (!command.request.limits.emplace(name, value.substr(equals + 1)).second)
    return fail(Reason::argument, "the limit " + quoted(name) + " is given twice");
  return {};
}

constexpr Option<CallCommand> kCallOptions[] = {
    {"policy", "FILE", kWho, "The policy file. `sallyport policy init` prints one to start from.",
     set<&CallCommand::policy>},
    {"as", "CALLER", kWho, "Who calls, by name in the policy.", set_request<&CallRequest::caller>},
    {"via", "URL|SOCKET", kWho,
     "Call a tool of the service that listens there, http://ADDRESS:PORT or the path of its unix "
     "socket, in place of --policy and --as: who calls, says the key in SALLYPORT_KEY.",
     set<&CallCommand::via>},
    {"args", "JSON|@FILE", kWho,
     "The arguments as one JSON object, in place of key=value words; @FILE reads it from a file.",
     set<&CallCommand::arguments_json>},
    {"address", "ADDRESS", kWho, "The network address that the call comes from, for lock-outs.",
     set_request<&CallRequest::address>},
    {"in", "FILE[:NAME]", kFiles, "Copy a file into /workspace before the tool starts.", add_input,
     nullptr, Times::many},
    {"out", "GLOB", kFiles,
     "Copy files of /workspace that match into the current directory at the end.",
     [](CallCommand& command, std::string_view value) -> Result<void> {
       command.request.collect.emplace_back(value);
       return {};
     },
     nullptr, Times::many},
    {"stdin", "", kFiles, "Pass standard input on to a command tool.",
     turn_on<&CallCommand::read_stdin>},
    {"state", "DIR", kHow,
     "Where rates, lock-outs and records are kept. Without it: a private directory of the user.",
     set<&CallCommand::state>},
    {"limit", "NAME=VALUE", kHow, "A limit for this call, tighter than the policy's: timeout=5s.",
     add_limit, nullptr, Times::many},
    {"dry-run", "", kHow, "Pass the gates and say what they decide, but run nothing.",
     [](CallCommand& command, std::string_view) -> Result<void> {
       command.request.dry_run = true;
       return {};
     }},
    {"idempotency-key", "KEY", kHow, "Run at most once under this key.",
     set_request<&CallRequest::idempotency_key>},
    {"trace", "TEXT", kHow, "Put this into the record of the call.",
     set_request<&CallRequest::trace>},
    {"json", "", kHow, "Print the whole result as JSON.", turn_on<&CallCommand::json>},
    {"help", "", kHow, "Print this text.", turn_on<&CallCommand::help>},
};

Result<void> add_word(CallCommand& command, std::string_view word) {
  if (command.tool.empty()) {
    command.tool = word;
    return {};
  }
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos || equals == 0)
    return fail(Reason::argument, quoted(word) + " is neither an option nor key=value",
                "arguments of the tool are written as key=value");
  std::string key(word.substr(0, equals));
  const auto same = [&](const auto& pair) { return pair.first == key; };
  if (std::ranges::any_of(command.argument_words, same))
    return fail(Reason::argument, "the argument " + quoted(key) + " is given twice");
  command.argument_words.emplace_back(std::move(key), word.substr(equals + 1));
  return {};
}

}  // namespace

Result<CallCommand> parse_call(std::span<const char* const> words) {
  CallCommand command;
  auto others = parse_mixed<CallCommand>(kCallOptions, words, command);
  if (!others) return std::unexpected(others.error());
  if (command.help) return command;
  for (const std::string_view word : *others)
    if (auto added = add_word(command, word); !added) return std::unexpected(added.error());
  if (command.tool.empty())
    return fail(Reason::argument, "no tool is named",
                "write `sallyport call TOOL --policy FILE --as CALLER key=value ...`");
  if (!command.via.empty()) {
    if (!command.policy.empty() || !command.request.caller.empty() || command.state ||
        !command.request.address.empty() || !command.request.trace.empty())
      return fail(Reason::argument,
                  "--via and what belongs to a policy of one's own are both given",
                  "the service has its policy, its state and its callers; leave --policy, --as, "
                  "--state, --address and --trace out");
    if (command.arguments_json && !command.argument_words.empty())
      return fail(Reason::argument, "--args and key=value words are both given", "use one of them");
    return command;
  }
  if (command.policy.empty())
    return fail(Reason::argument, "--policy is missing",
                "`sallyport policy init > policy.yaml` makes a file to start from");
  if (command.request.caller.empty())
    return fail(Reason::argument, "--as is missing", "name a caller of the policy file");
  if (command.arguments_json && !command.argument_words.empty())
    return fail(Reason::argument, "--args and key=value words are both given", "use one of them");
  return command;
}

std::string call_help_text() {
  return "Takes one call of a tool through every gate of a policy, and runs it in a cell.\n"
         "\n"
         "  sallyport call TOOL --policy FILE --as CALLER [options] [key=value ...]\n"
         "  sallyport call TOOL --via SOCKET [options] [key=value ...]\n"
         "\n" +
         options_help<CallCommand>(kCallOptions, {}) +
         "\nA value in key=value is text where the tool wants text, and JSON where it wants\n"
         "something else.\n"
         "\n"
         "Exit codes: 0 the tool succeeded; its own code, or 1, if it failed; 75 a person must\n"
         "approve first; 124 its time was up; 125 the call was refused (the reason is on\n"
         "stderr, and in --json); 130 ended by ^C; 137 killed at a limit.\n"
         "\n"
         "Example:\n"
         "  sallyport policy init > policy.yaml\n"
         "  sallyport call python --policy policy.yaml --as agent code='print(6 * 7)'\n";
}

}  // namespace sallyport
