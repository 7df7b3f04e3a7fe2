#include "door/cli/policy_command.h"

#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "door/cli/diff_command.h"
#include "door/cli/explain_command.h"
#include "door/cli/mixed_words.h"
#include "door/cli/policy_test_command.h"
#include "door/cli/problem.h"
#include "door/cli/process.h"
#include "door/cli/replay_command.h"
#include "door/cli/suggest_command.h"
#include "policy/file_schema.h"
#include "policy/rules.h"
#include "policy/starter.h"

namespace sallyport {
namespace {

using Words = std::span<const char* const>;

constexpr int kGood = 0, kProblems = 1;

template <class Request, bool Request::* Field>
Result<void> turn_on(Request& request, std::string_view) {
  request.*Field = true;
  return {};
}

int wrong(const Error& error) {
  print_error(error);
  return kWrongUsage;
}

// --- check

constexpr Option<CheckRequest> kCheckOptions[] = {
    {"json", "", "Options", "Print what was found as JSON.",
     turn_on<CheckRequest, &CheckRequest::json>},
    {"help", "", "Options", "Print this text.", turn_on<CheckRequest, &CheckRequest::help>},
};

std::string check_help_text() {
  return R"(Usage: sallyport policy check FILE [--json]

Loads FILE as a call would, and prints everything that is wrong with it, a line each, as
FILE:LINE:COLUMN: PLACE: what is wrong (what to write). A warning is odd, but loads.

)" + options_help<CheckRequest>(kCheckOptions, CheckRequest{}) +
         R"(
Exit codes
  0     The policy loads.
  1     It does not.
  2     The request was wrong.
)";
}

int check_command(Words words) {
  const auto request = parse_check(words);
  if (!request) return wrong(request.error());
  if (request->help) {
    std::fputs(check_help_text().c_str(), stdout);
    return kGood;
  }
  const PolicyResult result = Policy::load(request->file);
  const std::string text =
      request->json ? check_json(request->file, result) + "\n" : check_text(request->file, result);
  std::fputs(text.c_str(), stdout);
  return result ? kGood : kProblems;
}

// "1 tool", "2 tools"
std::string counted(std::size_t count, std::string_view what) {
  return std::to_string(count).append(what).append(count == 1 ? "" : "s");
}

// --- schema

int schema_command_of_policy(Words words) {
  const std::string_view word = words.empty() ? "" : words[0];
  if (word == "--help" || word == "-h") {
    std::puts(
        "Usage: sallyport policy schema\n\n"
        "Prints a JSON Schema of the policy file. With it, an editor completes keys and marks\n"
        "mistakes; in the first line of a policy:\n"
        "  # yaml-language-server: $schema=policy.schema.json");
    return kGood;
  }
  if (!words.empty())
    return wrong({Reason::argument,
                  "policy schema takes no arguments, and " + quoted(word) + " is one",
                  "write sallyport policy schema"});
  std::puts(json::serialize(policy_file_schema()).c_str());
  return kGood;
}

// --- init

struct InitRequest {
  std::string directory;
  bool help = false;
};

constexpr Option<InitRequest> kInitOptions[] = {
    {"dir", "DIR", "Options",
     "Let the file tools read and write DIR. Without it they read /usr/share and write nothing.",
     [](InitRequest& request, std::string_view text) {
       request.directory = text;
       return Result<void>();
     }},
    {"help", "", "Options", "Print this text.", turn_on<InitRequest, &InitRequest::help>},
};

Result<std::string> starter_for(const std::string& directory) {
  if (directory.empty()) return starter_policy();
  char resolved[PATH_MAX];
  if (!::realpath(directory.c_str(), resolved))
    return fail(Reason::argument, quoted(directory) + " cannot be opened", "name a directory");
  std::string text = starter_policy(resolved);
  // A directory that a policy cannot grant, such as one below what the ceiling denies.
  if (const auto policy = Policy::parse(text); !policy)
    return fail(Reason::argument,
                quoted(directory) + " cannot be given: " + policy.error()[0].message,
                policy.error()[0].hint);
  return text;
}

int init_command(Words words) {
  InitRequest request;
  const auto others = parse_mixed<InitRequest>(kInitOptions, words, request);
  if (!others) return wrong(others.error());
  if (request.help) {
    const std::string help =
        "Usage: sallyport policy init [--dir DIR] > policy.yaml\n\n"
        "Prints a commented policy that works as it is, to start from.\n\n" +
        options_help<InitRequest>(kInitOptions, InitRequest{});
    std::fputs(help.c_str(), stdout);
    return kGood;
  }
  if (!others->empty())
    return wrong({Reason::argument,
                  "policy init takes no arguments, and " + quoted((*others)[0]) + " is one",
                  "write sallyport policy init [--dir DIR] > policy.yaml"});
  const auto text = starter_for(request.directory);
  if (!text) return wrong(text.error());
  std::fputs(text->c_str(), stdout);
  return kGood;
}

// --- all of them

struct PolicyCommand {
  std::string_view name, usage, about;
  int (*run)(Words);
};

constexpr PolicyCommand kCommands[] = {
    {"check", "FILE", "Say everything that is wrong with a policy.", check_command},
    {"explain", "TOOL --policy FILE [--as CALLER]",
     "Say in plain sentences what a tool can touch and spend.", explain_command},
    {"test", "FILE", "Run the tests that the policy holds.", policy_test_command},
    {"diff", "OLD NEW", "Say what becomes possible and what becomes impossible.", diff_command},
    {"replay", "--audit DIR NEW",
     "Say which recorded calls would be decided differently by a new policy.", replay_command},
    {"init", "[--dir DIR]", "Print a policy to start from.", init_command},
    {"schema", "", "Print the JSON Schema of the file, for editors.", schema_command_of_policy},
    {"suggest", "-- COMMAND", "Watch a command run, and propose the least that it needs.",
     suggest_command},
};

}  // namespace

Result<CheckRequest> parse_check(std::span<const char* const> words) {
  CheckRequest request;
  const auto others = parse_mixed<CheckRequest>(kCheckOptions, words, request);
  if (!others) return std::unexpected(others.error());
  if (request.help) return request;
  if (others->size() != 1)
    return fail(Reason::argument,
                others->empty() ? "no file was given" : "more than one file was given",
                "write sallyport policy check FILE [--json]");
  request.file = (*others)[0];
  return request;
}

std::string check_text(const std::string& file, const PolicyResult& result) {
  std::string text;
  if (!result) {
    for (const PolicyProblem& problem : result.error())
      text.append(to_text(problem)).append("\n");
    const std::size_t count = result.error().size();
    return text.append(counted(count, " problem")).append("; nothing is loaded\n");
  }
  for (const PolicyProblem& warning : result->warnings())
    text.append("warning: ").append(to_text(warning)).append("\n");
  const Rules& rules = result->rules();
  return text.append(escape_for_terminal(file))
      .append(" is good: ")
      .append(counted(rules.tools.size(), " tool"))
      .append(", ")
      .append(counted(rules.callers.size(), " caller"))
      .append(", ")
      .append(counted(rules.roles.size(), " role"))
      .append("; hash ")
      .append(result->hash())
      .append("\n");
}

std::string check_json(const std::string& file, const PolicyResult& result) {
  json::object object{{"file", to_utf8(file)}, {"ok", result.has_value()}};
  object["problems"] = result ? json::array() : problems_json(result.error());
  object["warnings"] = result ? problems_json(result->warnings()) : json::array();
  if (result) object["hash"] = result->hash();
  return json::serialize(object);
}

std::string policy_help_text() {
  std::string text = "Usage: sallyport policy COMMAND ...\n\nCommands\n";
  for (const PolicyCommand& command : kCommands) {
    std::string left(command.name);
    if (!command.usage.empty()) left.append(" ").append(command.usage);
    text.append(help_row(left, command.about));
  }
  return text.append("\n`sallyport policy COMMAND --help` says more about each.\n");
}

int policy_command(std::span<const char* const> words) {
  const std::string_view name = words.empty() ? "" : words[0];
  if (name == "help" || name == "--help" || name == "-h") {
    std::fputs(policy_help_text().c_str(), stdout);
    return kGood;
  }
  std::vector<std::string_view> names;
  for (const PolicyCommand& command : kCommands) {
    if (command.name == name) return command.run(words.subspan(1));
    names.push_back(command.name);
  }
  if (name.empty()) {
    std::fputs(policy_help_text().c_str(), stderr);
    return kWrongUsage;
  }
  const auto meant = nearest(name, names);
  return wrong({Reason::argument, "there is no command " + quoted(name) + " of policy",
                meant ? "did you mean '" + std::string(*meant) + "'?"
                      : "`sallyport policy --help` lists them"});
}

}  // namespace sallyport
