#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "door/cli/audit_command.h"
#include "door/cli/call_command.h"
#include "door/cli/credential_command.h"
#include "door/cli/demo_command.h"
#include "door/cli/doctor_command.h"
#include "door/cli/egress_command.h"
#include "door/cli/in_cell_command.h"
#include "door/cli/key_command.h"
#include "door/cli/lockout_command.h"
#include "door/cli/policy_command.h"
#include "door/cli/process.h"
#include "door/cli/redact_command.h"
#include "door/cli/run_command.h"
#include "door/cli/schema_command.h"
#include "door/cli/screen_command.h"
#include "door/cli/serve_command.h"
#include "door/cli/sql_command.h"
#include "door/cli/tools_command.h"
#include "door/cli/top_command.h"

namespace {

using Words = std::span<const char* const>;

int version_command(Words) {
  std::puts("sallyport " SALLYPORT_VERSION);
  return 0;
}

struct Command {
  std::string_view name;
  std::string_view usage;  // behind the name; a command without help is not shown
  std::string_view help;
  int (*run)(Words words);
};

constexpr Command kCommands[] = {
    {"run", "[options] -- COMMAND [ARGS...]", "run a command in a cell of its own",
     sallyport::run_command},
    {"call", "TOOL --policy FILE --as CALLER", "call a tool through the gates of a policy",
     sallyport::call_command},
    {"serve", "[--policy FILE] [--state DIR]", "serve the tools of a policy over HTTP",
     sallyport::serve_command},
    {"key", "add|list|revoke", "the keys of callers of a service", sallyport::key_command},
    {"top", "[--url URL] [--key-file FILE]", "watch a service: calls, times, refusals",
     sallyport::top_command},
    {"policy", "check|explain|test|diff|init|...", "work with a policy file",
     sallyport::policy_command},
    {"sql", "prepare|check --policy FILE", "make the roles of sql tools at a PostgreSQL server",
     sallyport::sql_command},
    {"tools", "list --policy FILE", "list the tools of a policy, also for models",
     sallyport::tools_command},
    {"audit", "verify|search|tail|show|...", "read the log of calls, and check it",
     sallyport::audit_command},
    {"credential", "list|revoke|restore", "the secrets that tools use, and taking them back",
     sallyport::credential_command},
    {"egress", "log", "see what calls asked of the network", sallyport::egress_command},
    {"lockout", "list|lift", "see who is locked out, and end it", sallyport::lockout_command},
    {"schema", "validate", "check a JSON file against a JSON Schema", sallyport::schema_command},
    {"screen", "[--json|--sarif] FILE...", "say what code would do, without running it",
     sallyport::screen_command},
    {"redact", "[--rules LIST] [FILE]", "take secrets and addresses out of text",
     sallyport::redact_command},
    {"demo", "", "replay an incident: a model deletes a production mount", sallyport::demo_command},
    {"doctor", "[--json]", "say what this machine gives a cell, and what it lacks",
     sallyport::doctor_command},
    {"version", "", "print the version", version_command},
    {"in-cell", "", "", sallyport::in_cell_command},  // the file tools, inside their cells
    {"egress-process", "", "", sallyport::egress_process_command},  // of a run or a call
};

std::string help_text() {
  constexpr std::size_t kColumn = 54;
  std::string text = "sallyport: a tool execution sandbox for AI agents\n\n";
  for (const Command& command : kCommands) {
    if (command.help.empty()) continue;
    std::string left = std::string("  sallyport ").append(command.name);
    if (!command.usage.empty()) left.append(" ").append(command.usage);
    left.append(std::max(kColumn, left.size() + 2) - left.size(), ' ');
    text.append(left).append(command.help).append("\n");
  }
  return text.append("\n`sallyport COMMAND --help` says more about each.\n");
}

}  // namespace

int main(int argc, char** argv) {
  const Words words(argv, static_cast<std::size_t>(argc));
  const std::string_view name = words.size() > 1 ? words[1] : "";
  if (name == "--version") return version_command({});
  if (name == "help" || name == "--help" || name == "-h") {
    std::fputs(help_text().c_str(), stdout);
    return 0;
  }
  std::vector<std::string_view> names;
  for (const Command& command : kCommands) {
    if (command.name == name) return command.run(words.subspan(2));
    if (!command.help.empty()) names.push_back(command.name);
  }
  if (name.empty()) {
    std::fputs(help_text().c_str(), stderr);
    return sallyport::kCouldNotStart;
  }
  const auto meant = sallyport::nearest(name, names);
  sallyport::print_error(
      {sallyport::Reason::argument, "there is no command " + sallyport::quoted(name),
       meant ? "did you mean " + std::string(*meant) + "?" : "`sallyport --help` lists them"});
  return sallyport::kCouldNotStart;
}
