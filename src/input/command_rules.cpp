#include "input/command_rules.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "input/command_wrappers.h"

namespace sallyport {
namespace {

using Words = std::vector<std::string>;

constexpr int kDeepest = 8;

std::string joined(const Words& words) {
  std::string text;
  for (const std::string& word : words)
    text.append(text.empty() ? "" : " ").append(word);
  return text;
}

bool begins_with(const Words& words, const Words& first) {
  return !first.empty() && words.size() >= first.size() &&
         std::equal(first.begin(), first.end(), words.begin());
}

std::string allowed_commands(const CommandRules& rules) {
  constexpr std::size_t kShown = 12;
  if (rules.allow.empty()) return "no command is allowed";
  std::string text;
  for (std::size_t i = 0; i < std::min(rules.allow.size(), kShown); ++i)
    text.append(text.empty() ? "allowed: " : ", ").append(joined(rules.allow[i]));
  return text + (rules.allow.size() > kShown ? ", ..." : "");
}

// Why no rule matches, for somebody who expected one to.
Error not_allowed(const CommandRules& rules, const Words& words) {
  const std::string& program = words[0];
  const std::string bare = program.substr(program.rfind('/') + 1);
  for (const Words& rule : rules.allow) {
    if (rule.empty()) continue;
    if (rule[0] == program) {
      const bool option = words.size() > 1 && words[1].starts_with('-');
      return {
          Reason::argument,
          "the command " + quoted(program + (words.size() > 1 ? " " + words[1] : "")) +
              " is not allowed",
          (option ? "options before the sub-command are not allowed; put them behind it; " : "") +
              allowed_commands(rules)};
    }
    if (bare != program && rule[0] == bare)
      return {Reason::argument, "the program " + quoted(program) + " is not allowed by that path",
              "write " + bare + " without a path"};
  }
  return {Reason::argument, "the program " + quoted(program) + " is not allowed",
          allowed_commands(rules)};
}

// How many words the longest rule that matches has; 0 if none does.
std::size_t matching_words(const CommandRules& rules, const Words& words) {
  std::size_t longest = 0;
  for (const Words& rule : rules.allow)
    if (begins_with(words, rule)) longest = std::max(longest, rule.size());
  return longest;
}

Result<void> check_refused_flags(const CommandRules& rules, const InnerCommand& command) {
  const std::string& program = command.words[0];
  const std::string_view bare = std::string_view(program).substr(program.rfind('/') + 1);
  std::vector<std::string_view> flags;
  for (const auto& [name, refused] : rules.refuse_flags)
    if (name == program || name == bare) flags.insert(flags.end(), refused.begin(), refused.end());
  if (flags.empty()) return {};
  if (may_get_flags(command))
    return fail(Reason::argument,
                quoted(program) + " would get words that nobody has seen, and they could be flags",
                "write \"--\" before the words that xargs adds");
  const auto flag = find_flag(command.words, flags);
  if (!flag) return {};
  std::string names;
  for (const std::string_view name : flags)
    names.append(names.empty() ? "" : ", ").append(name);
  return fail(Reason::argument, "the flag " + quoted(*flag) + " of " + program + " is not allowed",
              "not allowed, in any spelling: " + names +
                  "; write the value of another flag as a word of its own");
}

Result<void> check(const CommandRules& rules, const InnerCommand& command, int depth) {
  if (depth > kDeepest)
    return fail(Reason::argument, "the command runs commands within commands too deeply",
                "run the innermost command itself");
  const std::string& program = command.words[0];
  // In "-{}" a file called "c" is the flag -c. Behind a name, as "./{}" or "{}.bak", it is a path.
  if (command.has_places)
    for (const std::string& word : command.words)
      if (word.starts_with('-') && word.contains("{}"))
        return fail(Reason::argument, quoted(word) + " would become a flag that nobody has seen",
                    "write {} as a word of its own");
  const std::size_t named = matching_words(rules, command.words);
  if (named == 0) return std::unexpected(not_allowed(rules, command.words));
  if (const auto why = never_runs(program))
    return fail(Reason::argument, quoted(program) + " " + std::string(*why) + ", and is never run",
                "run the command itself");
  if (Result<void> flags = check_refused_flags(rules, command); !flags) return flags;
  if (Result<void> danger = check_danger(command, named); !danger) return danger;
  const Result<std::vector<InnerCommand>> inner = inner_commands(command);
  if (!inner) return std::unexpected(inner.error());
  for (const InnerCommand& one : *inner) {
    if (one.words.empty() || one.words[0].empty())
      return fail(Reason::argument, quoted(program) + " has an empty command within",
                  "name the program that it is to run");
    if (Result<void> checked = check(rules, one, depth + 1); !checked) return checked;
  }
  return {};
}

}  // namespace

Result<std::vector<std::string>> check_command(const CommandRules& rules, const Command& command) {
  if (Result<void> checked = check(rules, InnerCommand{.words = command.words()}, 0); !checked)
    return std::unexpected(std::move(checked.error()));
  return command.words();
}

Result<void> check_command_rules(const CommandRules& rules) {
  for (const Words& rule : rules.allow) {
    const Result<Command> words = command_from_words(rule);
    if (!words) return std::unexpected(words.error());
    if (const auto why = never_runs(rule[0]))
      return fail(Reason::argument,
                  "the command " + quoted(joined(rule)) + " can never be run: " + rule[0] + " " +
                      std::string(*why),
                  "allow the command that it would run");
  }
  for (const auto& [program, flags] : rules.refuse_flags)
    for (const std::string& flag : flags)
      if (flag.size() < 2 || flag[0] != '-' || flag == "--" || flag.contains('='))
        return fail(Reason::argument, quoted(flag) + " of " + program + " is not a flag",
                    "write a flag like -c or --output, without its value");
  return {};
}

}  // namespace sallyport
