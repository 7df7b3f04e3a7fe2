#include "input/command_wrappers.h"

#include <algorithm>

#include "base/text.h"
#include "input/command.h"

namespace sallyport {
namespace {

using Words = std::vector<std::string>;

// WRAPPER [options] [operands] COMMAND: the options that are known, and how many operands stand
// before the command. Any other option is refused. No option with an optional value is listed: it
// would leave open which word is the command.
struct Wrapper {
  std::string_view name;
  std::string_view flags;        // short, without a value
  std::string_view values;       // short, with a value
  std::string_view long_flags;   // between spaces
  std::string_view long_values;  // between spaces
  std::size_t operands = 0;
};

constexpr Wrapper kWrappers[] = {
    {"env", "i0", "u", "ignore-environment null", "unset"},
    {"ionice", "t", "cn", "ignore", "class classdata"},
    {"nice", "", "n", "", "adjustment"},
    {"nohup", "", "", "", ""},
    {"setsid", "cfw", "", "ctty fork wait", ""},
    {"stdbuf", "", "ioe", "", "input output error"},
    {"time", "pvq", "f", "portability verbose quiet", "format"},
    {"timeout", "fpv", "ks", "foreground preserve-status verbose", "kill-after signal", 1},
    {"xargs", "0rtx", "nLPsEdIa", "null no-run-if-empty verbose exit",
     "max-args max-procs max-chars delimiter arg-file"},
};

// What `env` may set. Everything else may be code to some program: LD_PRELOAD, PATH, BASH_ENV,
// GIT_SSH_COMMAND, PYTHONSTARTUP ...
constexpr std::string_view kHarmlessVariables[] = {"LANG", "TZ", "NO_COLOR", "COLUMNS", "LINES"};

// Shells whose quoting is that of parse_command.
constexpr std::string_view kShells[] = {"sh", "bash", "dash", "ash"};

// What a shell runs itself, and evaluates nothing in. Others do: printf -v 'a[$(id)]' is a command
// substitution to bash.
constexpr std::string_view kPlainBuiltins[] = {"echo", "true", "false", "pwd"};
constexpr std::string_view kBuiltins[] = {
    ".",        ":",       "[",       "alias",   "bg",      "bind",     "break",    "builtin",
    "caller",   "cd",      "chdir",   "command", "compgen", "complete", "continue", "declare",
    "dirs",     "disown",  "enable",  "eval",    "exec",    "exit",     "export",   "fc",
    "fg",       "getopts", "hash",    "help",    "history", "jobs",     "kill",     "let",
    "local",    "logout",  "mapfile", "popd",    "printf",  "pushd",    "read",     "readarray",
    "readonly", "return",  "set",     "shift",   "shopt",   "source",   "suspend",  "test",
    "times",    "trap",    "type",    "typeset", "ulimit",  "umask",    "unalias",  "unset",
    "wait"};

constexpr std::string_view kSedNames[] = {"sed", "gsed"};
constexpr std::string_view kAwkNames[] = {"awk", "gawk", "mawk", "nawk", "original-awk"};

bool is_one_of(std::string_view word, std::span<const std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

bool is_listed(std::string_view word, std::string_view list) {
  const auto words = split_words(list);
  return is_one_of(word, words);
}

std::unexpected<Error> refused(std::string_view what, std::string hint) {
  return fail(Reason::argument, std::string(what), std::move(hint));
}

struct Option {
  std::string name;  // "-n" or "--max-args"
  std::string value;
};

struct Unwrapped {
  std::vector<Option> options;
  std::size_t rest = 0;  // the first word that is neither option nor value
};

Result<Unwrapped> read_options(const Wrapper& wrapper, const Words& words) {
  Unwrapped result;
  std::size_t i = 1;
  const auto unknown = [&](std::string_view option) {
    return refused("the option " + quoted(option) + " of " + std::string(wrapper.name) +
                       " is not understood, so the command behind it is not known",
                   "run the command without " + std::string(wrapper.name));
  };
  for (; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word == "--") {
      ++i;
      break;
    }
    if (word.starts_with("--")) {
      const std::size_t equals = word.find('=');
      const std::string_view name = word.substr(2, equals - 2);
      const bool has_value = equals != std::string_view::npos;
      if (!has_value && is_listed(name, wrapper.long_flags)) {
        result.options.push_back({std::string(word), {}});
      } else if (is_listed(name, wrapper.long_values)) {
        if (!has_value && ++i == words.size()) return unknown(word);
        result.options.push_back({"--" + std::string(name),
                                  has_value ? std::string(word.substr(equals + 1)) : words[i]});
      } else {
        return unknown(word);
      }
    } else if (word.starts_with('-') && word.size() > 1) {
      for (std::size_t at = 1; at < word.size(); ++at) {
        std::string name = {'-', word[at]};
        if (wrapper.flags.contains(word[at])) {
          result.options.push_back({std::move(name), {}});
          continue;
        }
        if (!wrapper.values.contains(word[at])) return unknown(word);
        if (at + 1 == word.size() && ++i == words.size()) return unknown(word);
        result.options.push_back(
            {std::move(name), at + 1 == word.size() ? words[i] : std::string(word.substr(at + 1))});
        break;
      }
    } else if (word == "-" && wrapper.name == "env") {
      result.options.push_back({"-i", {}});
    } else {
      break;
    }
  }
  result.rest = i;
  return result;
}

bool is_harmless_assignment(std::string_view word) {
  const std::size_t equals = word.find('=');
  const std::string_view name = word.substr(0, equals);
  const std::string_view value = word.substr(equals + 1);
  const bool locale = name.starts_with("LC_") && std::ranges::all_of(name, [](char c) {
                        return c == '_' || (c >= 'A' && c <= 'Z');
                      });
  if (!locale && !is_one_of(name, kHarmlessVariables)) return false;
  // A slash makes a file name of a locale or time zone; only Europe/Berlin needs one.
  const bool plain = std::ranges::all_of(value, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_.@+-/").contains(c);
  });
  return plain && !value.starts_with('/') && !value.contains("..") &&
         (name == "TZ" || !value.contains('/'));
}

Result<std::vector<InnerCommand>> unwrap(const Wrapper& wrapper, const InnerCommand& command) {
  const Words& words = command.words;
  Result<Unwrapped> read = read_options(wrapper, words);
  if (!read) return std::unexpected(std::move(read.error()));
  std::size_t rest = read->rest;
  if (wrapper.name == "env") {
    for (; rest < words.size() && words[rest].contains('='); ++rest)
      if (!is_harmless_assignment(words[rest]))
        return refused("env may not set " + quoted(words[rest]),
                       "only LANG, LC_*, TZ, NO_COLOR, COLUMNS and LINES may be set, to plain "
                       "values");
  }
  rest = std::min(rest + wrapper.operands, words.size());
  if (rest == words.size()) return {};  // env prints, xargs echoes, the others fail

  InnerCommand inner{.words = Words(words.begin() + static_cast<std::ptrdiff_t>(rest), words.end()),
                     .unseen_words = command.unseen_words,
                     .has_places = command.has_places};
  if (wrapper.name == "xargs") {
    inner.unseen_words = true;
    for (const Option& option : read->options) {
      if (option.name != "-I") continue;
      // Another mark could be a letter of the command's own name.
      if (option.value != "{}")
        return refused("the mark " + quoted(option.value) + " of xargs -I is not {}",
                       "write xargs -I {}");
      inner.has_places = true;
    }
  }
  return std::vector{std::move(inner)};
}

Result<std::vector<InnerCommand>> unwrap_find(const InnerCommand& command) {
  std::vector<InnerCommand> inner;
  const Words& words = command.words;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "-delete") {
      inner.push_back({.words = {"rm"}});  // what deletes is allowed as what deletes
    } else if (word.starts_with("-fprint") || word == "-fls" || word.starts_with("-files0-from")) {
      return refused("find " + quoted(word) + " is refused: it writes or reads a file of its own",
                     "leave it away; the output of find is returned");
    } else if (word == "-ok" || word == "-okdir") {
      // There is nobody to ask, and it ends elsewhere than -exec does.
      return refused("find " + quoted(word) + " is refused: there is nobody to ask", "write -exec");
    } else if (word == "-exec" || word == "-execdir") {
      InnerCommand found{.words = {}, .unseen_words = command.unseen_words, .has_places = true};
      bool ended = false;
      for (++i; i < words.size() && !ended; ++i) {
        ended =
            words[i] == ";" || (words[i] == "+" && words[i - 1] == "{}" && !found.words.empty());
        if (ended) break;
        found.words.push_back(words[i]);
      }
      if (!ended || found.words.empty())
        return refused("find " + quoted(word) + " has no command, or no end to it",
                       "end the command with \\; or with {} +");
      inner.push_back(std::move(found));
    }
  }
  return inner;
}

Result<std::vector<InnerCommand>> unwrap_shell(const InnerCommand& command) {
  const Words& words = command.words;
  const std::string shell(known_name(words[0]));
  const auto is_plain_option = [](std::string_view word) {
    if (word == "--norc" || word == "--noprofile" || word == "--posix") return true;
    return word.size() > 1 && word[0] == '-' &&
           word.find_first_not_of("euxf", 1) == std::string_view::npos;
  };
  std::size_t i = 1;
  while (i < words.size() && is_plain_option(words[i]))
    ++i;
  const bool inline_code = i + 2 == words.size() && words[i].size() > 1 && words[i][0] == '-' &&
                           words[i].ends_with('c') &&
                           words[i].find_first_not_of("euxf", 1) == words[i].size() - 1;
  if (!inline_code || words[i + 1].starts_with('-') || words[i + 1].starts_with('+'))
    return refused(shell + " may only be run as " + shell + " -c 'one simple command'",
                   "run the command without " + shell);
  // Put into code, an unseen word or a file name is code.
  if (command.unseen_words || (command.has_places && words[i + 1].contains("{}")))
    return refused(shell + " -c would take words as code that nobody has seen",
                   "run the command without " + shell);
  Result<Command> parsed = parse_command(words[i + 1]);
  if (!parsed) {
    return refused(
        "the code of " + shell + " -c is not one simple command: " + parsed.error().message,
        parsed.error().hint);
  }
  return std::vector{InnerCommand{.words = parsed->words(), .through_shell = true}};
}

// sed and awk run nothing by name, but their scripts may.
Result<void> check_sed(const InnerCommand& command) {
  const Words& words = command.words;
  std::vector<std::string_view> scripts, operands;
  bool sandbox = false, given = false;
  const auto unknown = [](std::string_view option) {
    return refused("the option " + quoted(option) + " of sed is not allowed",
                   "allowed: -n, -E, -r, -s, -u, -z, -i, -e SCRIPT, --sandbox");
  };
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word == "--") {
      operands.insert(operands.end(), words.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                      words.end());
      break;
    }
    if (word.starts_with("--")) {
      if (word == "--sandbox") {
        sandbox = true;
      } else if (word.starts_with("--expression=")) {
        given = true;
        scripts.push_back(word.substr(13));
      } else if (!is_listed(word,
                            "--quiet --silent --regexp-extended --separate --null-data "
                            "--zero-terminated --unbuffered --posix --in-place")) {
        return unknown(word);
      }
    } else if (word.starts_with('-') && word.size() > 1) {
      for (std::size_t at = 1; at < word.size(); ++at) {
        if (word[at] == 'e') {
          if (at + 1 == word.size() && ++i == words.size()) return unknown(word);
          given = true;
          scripts.push_back(at + 1 == word.size() ? std::string_view(words[i])
                                                  : word.substr(at + 1));
          break;
        }
        // What follows an i is the ending of a backup file.
        const bool known = std::string_view("nErsuz").contains(word[at]) ||
                           (word[at] == 'i' && at + 1 == word.size());
        if (!known) return unknown(word);
      }
    } else {
      operands.push_back(word);
    }
  }
  if (!given && !operands.empty()) scripts.push_back(operands[0]);
  for (const std::string_view script : scripts) {
    const bool filled_in = command.has_places && script.contains("{}");
    if (filled_in || (!sandbox && !is_plain_sed_script(script)))
      return refused("the sed script " + quoted(script) +
                         " is not one that certainly runs no command and writes no file",
                     "use p, d, q, =, s/// with the flags g, p, i, m or a number, and y///, behind "
                     "line numbers or /patterns/; or add --sandbox");
  }
  return {};
}

Result<void> check_awk(const InnerCommand& command) {
  const Words& words = command.words;
  std::size_t i = 1;
  for (; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word == "--") {
      ++i;
      break;
    }
    if (!word.starts_with('-') || word == "-") break;
    if (!word.starts_with("-F") && !word.starts_with("-v"))
      return refused("the option " + quoted(word) + " of awk is not allowed",
                     "allowed: -F SEPARATOR and -v NAME=VALUE, then the program");
    if (word.size() == 2) ++i;
  }
  if (i >= words.size()) return {};
  if (!is_plain_awk_program(words[i]) || (command.has_places && words[i].contains("{}")))
    return refused(
        "the awk program " + quoted(words[i]) + " is not one that certainly runs no command",
        "leave system, getline, single '|' and '@' away, also in patterns and texts");
  return {};
}

}  // namespace

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (end > 0) words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

std::string_view known_name(std::string_view program) {
  program.remove_prefix(program.rfind('/') + 1);  // npos + 1 is 0
  // python3.11, lua5.4, node-18: only where a letter is left.
  const std::size_t end = program.find_last_not_of("0123456789.-");
  return end == std::string_view::npos ? program : program.substr(0, end + 1);
}

bool is_examined(std::string_view program) {
  const std::string_view name = known_name(program);
  return name == "find" || is_one_of(name, kShells) || is_one_of(name, kSedNames) ||
         is_one_of(name, kAwkNames) ||
         std::ranges::find(kWrappers, name, &Wrapper::name) != std::end(kWrappers);
}

Result<std::vector<InnerCommand>> inner_commands(const InnerCommand& command) {
  const std::string_view name = known_name(command.words[0]);
  if (command.through_shell && is_one_of(command.words[0], kBuiltins) &&
      !is_one_of(command.words[0], kPlainBuiltins))
    return refused(quoted(command.words[0]) + " is a built-in command of the shell",
                   "run the program without a shell");
  if (command.unseen_words && is_examined(command.words[0]))
    return refused(std::string(name) + " would get words that nobody has seen",
                   "give " + std::string(name) + " its words directly, not by xargs");
  if (is_one_of(name, kShells)) return unwrap_shell(command);
  if (name == "find") return unwrap_find(command);
  if (is_one_of(name, kSedNames) || is_one_of(name, kAwkNames)) {
    const Result<void> checked =
        is_one_of(name, kSedNames) ? check_sed(command) : check_awk(command);
    if (!checked) return std::unexpected(checked.error());
    return {};
  }
  const auto* wrapper = std::ranges::find(kWrappers, name, &Wrapper::name);
  if (wrapper != std::end(kWrappers)) return unwrap(*wrapper, command);
  return {};
}

}  // namespace sallyport
