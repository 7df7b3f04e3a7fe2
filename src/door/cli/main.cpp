#include <cstdio>
#include <span>
#include <string_view>

#include "base/error.h"
#include "door/cli/doctor_command.h"
#include "door/cli/run_command.h"

namespace {

constexpr const char* kHelp =
    "sallyport: a tool execution sandbox for AI agents\n"
    "\n"
    "  sallyport run [options] -- COMMAND [ARGS...]   run a command in a cell of its own\n"
    "  sallyport doctor [--json]                      say what this machine gives a cell, and what "
    "it lacks\n"
    "  sallyport version\n"
    "\n"
    "`sallyport run --help` lists the options, their defaults and the exit codes.\n";

}  // namespace

int main(int argc, char** argv) {
  const std::span<const char* const> words(argv, static_cast<std::size_t>(argc));
  const std::string_view command = words.size() > 1 ? words[1] : "";
  if (command == "run") return sallyport::run_command(words.subspan(2));
  if (command == "doctor") return sallyport::doctor_command(words.subspan(2));
  if (command == "version" || command == "--version") {
    std::puts("sallyport " SALLYPORT_VERSION);
    return 0;
  }
  if (command == "help" || command == "--help" || command == "-h") {
    std::fputs(kHelp, stdout);
    return 0;
  }
  if (command.empty())
    std::fputs(kHelp, stderr);
  else
    sallyport::print_error({sallyport::Reason::argument,
                            "there is no command '" + std::string(command) + "'",
                            "`sallyport --help` lists them"});
  return 125;
}
