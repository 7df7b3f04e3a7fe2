// Any line is a command or is refused; a command reads back as itself, and what the rules let
// through begins with what they allow.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/text.h"
#include "check.h"
#include "input/command_rules.h"
#include "input/command_wrappers.h"

using namespace sallyport;

static void check_error(const Error& error) {
  FUZZ_CHECK(error.reason == Reason::argument);
  FUZZ_CHECK(!error.message.empty() && !error.hint.empty());
  FUZZ_CHECK(escape_for_terminal(error.message) == error.message);
}

// Every program that is looked through, and one that is harmless. "rm" is in no rule.
static const CommandRules& rules() {
  static const CommandRules kRules{
      .allow = {{"ls"},   {"env"},  {"xargs"}, {"find"},    {"sh"},         {"nice"}, {"nohup"},
                {"sed"},  {"awk"},  {"git"},   {"timeout"}, {"python3"},    {"tar"},  {"make"},
                {"time"}, {"sudo"}, {"bash"},  {"stdbuf"},  {"git", "log"}, {"cat"}},
      .refuse_flags = {{"ls", {"-R", "--recursive"}}}};
  return kRules;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  (void)is_plain_sed_script(line);
  (void)is_plain_awk_program(line);

  const auto command = parse_command(line);
  if (!command) {
    check_error(command.error());
    return 0;
  }
  const std::vector<std::string>& words = command->words();
  FUZZ_CHECK(!words.empty() && !words[0].empty());
  const std::string text = command->to_text();
  if (text.size() <= kLongestCommand) {
    const auto again = parse_command(text);
    FUZZ_CHECK(again && again->words() == words);
  }

  const auto allowed = check_command(rules(), *command);
  if (!allowed) {
    check_error(allowed.error());
    return 0;
  }
  FUZZ_CHECK(*allowed == words);
  FUZZ_CHECK(std::ranges::any_of(rules().allow, [&](const auto& r) { return r[0] == words[0]; }));
  FUZZ_CHECK(words[0] != "sudo");
  // Behind a wrapper without options, its command is the next word: it was checked like the first.
  if ((words[0] == "nohup" || words[0] == "env") && words.size() > 1 &&
      !words[1].starts_with('-') && !words[1].contains('=')) {
    const auto inner = command_from_words({words.begin() + 1, words.end()});
    FUZZ_CHECK(inner && check_command(rules(), *inner));
  }
  return 0;
}
