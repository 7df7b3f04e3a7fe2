// Reads shell scripts: what every command is after quotes, variables and wrappers, and what it is
// given.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "screen/report.h"
#include "screen/value.h"

namespace sallyport {

// One word of a command, as far as it can be told.
struct ShellWord {
  std::string text;   // up to what only the run decides
  bool known = true;  // `text` is all of it
};

class ShellReader {
 public:
  explicit ShellReader(CodeReading reading) : reading_(reading) {}
  void read(const SyntaxTree& tree);

  // A command without a shell around it.
  void check_words(std::vector<ShellWord> words, CodeSpan at, unsigned depth = 0);

 private:
  using Kind = NodeKind;
  using Field = NodeField;
  using Words = std::vector<ShellWord>;  // one word that may be any of these

  // shell_words.cpp
  [[nodiscard]] Words expand(NodeId id);
  [[nodiscard]] Words expand_variable(std::string_view name);
  void append(Words& whole, const Words& more);
  [[nodiscard]] bool may_fold(std::size_t bytes);
  [[nodiscard]] Words expand_braces(NodeId id);
  [[nodiscard]] ShellWord output_of(NodeId substitution);
  [[nodiscard]] static ShellWord printed_by(const std::vector<ShellWord>& words);
  [[nodiscard]] std::vector<std::vector<ShellWord>> words_of(NodeId command);
  void remember(NodeId id);
  void remember_assignment(NodeId id);

  // shell_screen.cpp
  void check(NodeId id);
  void check_command(NodeId id);
  void check_redirect(NodeId id);
  void check_assignment(NodeId id);
  void check_pipe_to(std::string_view program, Language language, NodeId id);
  [[nodiscard]] std::optional<std::string> given_on_stdin(NodeId command);
  void check_arguments(std::string_view name, std::span<const ShellWord> words, CodeSpan at);
  [[nodiscard]] bool unwrap(std::vector<ShellWord>& words, CodeSpan at, unsigned depth);
  void check_code(const ShellWord& code, Language language, CodeSpan at);
  void report(ScreenKind kind, CodeSpan at, std::string why);

  // shell_programs.cpp
  void check_program(std::string_view name, std::span<const ShellWord> words, CodeSpan at,
                     unsigned depth);

  CodeReading reading_;
  const SyntaxTree* tree_ = nullptr;
  std::map<std::string, Words, std::less<>> variables_;
  std::map<std::string, std::string, std::less<>> aliases_;
  std::set<std::string, std::less<>> functions_;
  NodeId command_ = kNoNode;  // the one that is looked at
  unsigned depth_ = 0;
  bool exhausted_ = false;
};

}  // namespace sallyport
