// What a command makes of its arguments: a value that begins with '-' is an option to it, and some
// programs take a word for a script.
#include <algorithm>

#include "base/text.h"
#include "input/command_wrappers.h"
#include "policy/load.h"

namespace sallyport {
namespace {

// --- options

bool begins_with_dash(const json::value& value) {
  const json::string* const text = value.if_string();
  return text ? text->starts_with('-') : canonical_json(value).starts_with('-');
}

// Whether no value that the schema accepts could stand at the beginning of a word.
bool has_only_dashes(const json::object& schema) {
  if (const json::value* const constant = schema.if_contains("const"))
    return begins_with_dash(*constant);
  if (const json::value* const choice = schema.if_contains("enum"); choice && choice->is_array())
    return std::ranges::all_of(choice->get_array(), begins_with_dash);
  const json::value* const type = schema.if_contains("type");
  if (!type || (*type != "integer" && *type != "number")) return false;
  const auto number = [&](std::string_view keyword) -> std::optional<double> {
    const json::value* const value = schema.if_contains(keyword);
    return value && value->is_number() ? std::optional(value->to_number<double>()) : std::nullopt;
  };
  const auto most = number("maximum"), below = number("exclusiveMaximum");
  return (most && *most < 0) || (below && *below <= 0);
}

// Whether the value of `name` begins a word of the argv, dashes of the policy's own aside.
bool begins_word(const Tool& tool, std::string_view name) {
  return std::ranges::any_of(tool.run, [&](const Template& word) {
    for (const Template::Piece& piece : word.pieces) {
      if (!piece.argument.empty()) return piece.argument == name;
      if (piece.text.find_first_not_of('-') != std::string::npos) return false;
    }
    return false;
  });
}

// The gates refuse what a command would take for an option, so these calls could never be made.
void check_dashes(const Spot& at, const Tool& tool) {
  for (const Argument& argument : tool.args) {
    if (argument.dash || !begins_word(tool, argument.name)) continue;
    const Node* const args = at.node().find("args");
    const Node* const node = args ? args->find(argument.name) : nullptr;
    const Node* const written = node ? node->find("default") : nullptr;
    const std::string rule = "args." + argument.name;
    const std::string hint =
        "the command would take it for an option; write dash: true if it cannot, or put text "
        "before it, as in \"--" +
        argument.name + "={" + argument.name + "}\"";
    if (argument.fallback && begins_with_dash(*argument.fallback))
      at.refuse_key(rule + ".default", written ? written->place : argument.place,
                    "the default begins with '-', and so every call that leaves the argument out "
                    "would be refused",
                    hint);
    else if (has_only_dashes(argument.definition))
      at.refuse_key(rule, argument.place,
                    "every value that it may have begins with '-', and so every call would be "
                    "refused",
                    hint);
  }
}

// --- scripts

struct Interpreter {
  std::string_view name;
  std::string_view letters;          // of the flags behind which a script stands
  bool first_word = false;           // the first word that is no flag is a script
  std::string_view long_flags = {};  // between blanks
};
constexpr Interpreter kInterpreters[] = {
    {"sh", "c"},
    {"bash", "c"},
    {"dash", "c"},
    {"ash", "c"},
    {"ksh", "c"},
    {"zsh", "c"},
    {"fish", "c", false, "--command"},
    {"su", "c", false, "--command"},
    {"python", "c"},
    {"pypy", "c"},
    {"perl", "eE"},
    {"ruby", "e"},
    {"lua", "e"},
    {"Rscript", "e"},
    {"php", "r", false, "--run"},
    {"node", "ep", false, "--eval --print"},
    {"nodejs", "ep", false, "--eval --print"},
    {"bun", "e", false, "--eval"},
    {"awk", "", true},
    {"gawk", "e", true, "--source"},
    {"mawk", "", true},
    {"sed", "e", true, "--expression"},
};

const std::string* argument_in(const Template& word) {
  for (const Template::Piece& piece : word.pieces)
    if (!piece.argument.empty()) return &piece.argument;
  return nullptr;
}

std::string_view beginning_of(const Template& word) {
  return word.pieces.empty() ? std::string_view() : std::string_view(word.pieces[0].text);
}

// The word behind `program` that it takes for a script, if it is there.
std::optional<std::size_t> find_script(const Tool& tool, std::size_t program,
                                       const Interpreter& interpreter) {
  const auto long_flags = split_words(interpreter.long_flags);
  for (std::size_t i = program + 1; i < tool.run.size(); ++i) {
    const std::string_view word = beginning_of(tool.run[i]);
    const bool whole = argument_in(tool.run[i]) == nullptr;
    if (!word.starts_with('-') || word == "-") {
      return interpreter.first_word ? std::optional(i) : std::nullopt;
    }
    if (word.starts_with("--")) {
      if (std::ranges::find(long_flags, word.substr(0, word.find('='))) == long_flags.end())
        continue;
      return whole ? i + 1 : i;
    }
    const std::size_t letter = word.find_first_of(interpreter.letters, 1);
    if (letter != std::string_view::npos) return whole ? i + 1 : i;
  }
  return std::nullopt;
}

void warn_of_scripts(const Spot& run, const Tool& tool) {
  json::value ignored;
  for (std::size_t i = 0; i < tool.run.size(); ++i) {
    if (argument_in(tool.run[i])) continue;
    const auto interpreter =
        std::ranges::find(kInterpreters, known_name(beginning_of(tool.run[i])), &Interpreter::name);
    if (interpreter == std::end(kInterpreters)) continue;
    const auto script = find_script(tool, i, *interpreter);
    if (!script || *script >= tool.run.size()) continue;
    const std::string* const argument = argument_in(tool.run[*script]);
    if (!argument || *script >= run.node().items.size()) continue;
    Spot(run, run.node().items[*script], *script, &ignored)
        .warn("the argument '" + *argument + "' becomes a script of " +
                  std::string(interpreter->name) + ": whoever calls decides what runs",
              "give it to a script of your own as a word, or, if code is meant, write use: "
              "run_python, run_javascript or run_shell");
    return;
  }
}

}  // namespace

void check_argv(const Spot& at, const Tool& tool) {
  if (tool.kind != ToolKind::command) return;
  check_dashes(at, tool);
  json::value ignored;
  for (const NodeEntry& entry : at.node().entries)
    if (entry.key.text == "run") warn_of_scripts(Spot(at, entry, &ignored), tool);
}

}  // namespace sallyport
