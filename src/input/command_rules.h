// Which commands may run: decided on the parsed words, through every wrapper that runs another
// command.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "input/command.h"
#include "sallyport/error.h"

namespace sallyport {

struct CommandRules {
  // The first words of what may run: {"ls"}, {"git", "log"}. Empty: nothing.
  std::vector<std::vector<std::string>> allow;
  // Per program, the flags that it may not be given: {"git", {"-c", "--output"}}. A short flag is
  // found alone, with its value attached and among others (-c x, -cx, -vc); a long one with its
  // value and abbreviated (--output=x, --outp x).
  std::map<std::string, std::vector<std::string>> refuse_flags;
};

// The words to run, unchanged, if the rules allow them. The program must be spelled as in a rule:
// no path unless the rule has it, no option before the sub-command. Where the command runs another
// one (env, xargs, find -exec, sh -c ...), that one must be allowed too; where that cannot be told
// for certain (sudo, python -c, tar --to-command ...) it is refused.
[[nodiscard]] Result<std::vector<std::string>> check_command(const CommandRules& rules,
                                                             const Command& command);

// Whether every rule can match something: refuses empty rules, flags without a dash, and programs
// that check_command never lets run. For use when a policy is loaded.
[[nodiscard]] Result<void> check_command_rules(const CommandRules& rules);

}  // namespace sallyport
