// One command, as words, without a shell. What a shell would expand, redirect or chain is refused
// and not emulated: the words that are checked are the words that run.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sallyport/error.h"

namespace sallyport {

inline constexpr std::size_t kLongestCommand = 8192;  // bytes
inline constexpr std::size_t kMostCommandWords = 512;

// A program and its arguments: at least one word, the first not empty, all of them UTF-8 without
// control characters but tab and newline.
class Command {
 public:
  [[nodiscard]] const std::vector<std::string>& words() const { return words_; }

  // The command as a line that parse_command, and a POSIX shell, read back into the same words.
  [[nodiscard]] std::string to_text() const;

 private:
  friend Result<Command> command_from_words(std::vector<std::string> words);
  explicit Command(std::vector<std::string> words) : words_(std::move(words)) {}
  std::vector<std::string> words_;
};

// Reads one simple command in POSIX quoting: '…', "…" and backslash. Unquoted, everything special
// to a shell is refused (operators, $, backquotes, globs, braces, ~, comments, assignments,
// reserved words); the message names it and its column.
[[nodiscard]] Result<Command> parse_command(std::string_view line);

// The same command given as words.
[[nodiscard]] Result<Command> command_from_words(std::vector<std::string> words);

}  // namespace sallyport
