// What is known about programs that run other programs: which of their words are a command of its
// own, and which programs and flags hide one so well that they are refused. The tables stand at the
// top of command_wrappers.cpp and command_danger.cpp.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sallyport/error.h"

namespace sallyport {

// A command within a command.
struct InnerCommand {
  std::vector<std::string> words;
  bool through_shell = false;  // the built-ins of a shell come before programs
  bool unseen_words = false;   // xargs appends words that nobody has seen, or puts them for "{}"
  bool has_places = false;     // "{}" within a word becomes a path (find) or any word (xargs)
};

// "/usr/bin/python3.11" -> "python": the name under which the tables know a program.
[[nodiscard]] std::string_view known_name(std::string_view program);

// Why the program is never run, as the end of a sentence ("runs a command as another user"), or
// nothing.
[[nodiscard]] std::optional<std::string_view> never_runs(std::string_view program);

// Whether the words of this program are examined below: it must not get words that nobody has seen.
[[nodiscard]] bool is_examined(std::string_view program);

// The commands that `command` would run; an error where that cannot be told for certain.
[[nodiscard]] Result<std::vector<InnerCommand>> inner_commands(const InnerCommand& command);

// Refuses flags and sub-commands with which a program runs others (git -c, tar --to-command, python
// -c). The first `named` words stand in the rule that allowed the command: what they name, they
// allow.
[[nodiscard]] Result<void> check_danger(const InnerCommand& command, std::size_t named);

// The argument of a command that is one of `flags`, in any spelling that getopt takes: -c x, -cx,
// -vc,
// --output=x, --outp x; behind a "--", nothing is a flag.
[[nodiscard]] std::optional<std::string_view> find_flag(std::span<const std::string> words,
                                                        std::span<const std::string_view> flags);

// Whether words that nobody has seen come where they may be flags.
[[nodiscard]] bool may_get_flags(const InnerCommand& command);

// Whether a program for sed or awk is of the kind that certainly runs nothing and names no files.
[[nodiscard]] bool is_plain_sed_script(std::string_view script);
[[nodiscard]] bool is_plain_awk_program(std::string_view program);

// The words of a text between spaces.
[[nodiscard]] std::vector<std::string_view> split_words(std::string_view text);

}  // namespace sallyport
