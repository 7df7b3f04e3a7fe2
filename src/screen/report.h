// What the readers of the three languages share: where findings go, how much they may spend, and
// the way from code inside a string back to a reader.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "screen/screen.h"
#include "screen/syntax.h"

namespace sallyport {

enum class ScreenKind : std::uint8_t {
#define SALLYPORT_SCREEN_ENUM(name, what, allowed) name,
  SALLYPORT_SCREEN_CATEGORIES(SALLYPORT_SCREEN_ENUM)
#undef SALLYPORT_SCREEN_ENUM
};

// What code of the kind does, in words that follow its name.
[[nodiscard]] inline std::string_view what_of(ScreenKind kind) {
  return kScreenCategories[static_cast<std::size_t>(kind)].what;
}

struct CodeSpan {
  std::uint32_t begin = 0, end = 0;
};

class ScreenReport {
 public:
  explicit ScreenReport(std::string_view code);

  void add(ScreenKind kind, CodeSpan place, std::string why);
  void set_syntax_error(std::uint32_t at, std::string message);
  [[nodiscard]] Screening take();

  // What is left of the text that folding may build, and of the code in strings that may be read:
  // both bound the work by the length of the code.
  [[nodiscard]] bool spend_folding(std::size_t bytes);
  [[nodiscard]] bool spend_code(std::size_t bytes);
  [[nodiscard]] bool spend_step();

 private:
  [[nodiscard]] std::pair<unsigned, unsigned> position(std::uint32_t at) const;

  std::string_view code_;
  std::vector<std::uint32_t> lines_;                      // where each begins
  std::multimap<std::uint32_t, ScreenFinding> findings_;  // by where they stand
  std::set<std::tuple<unsigned, ScreenKind, std::string>> seen_;
  bool more_ = false;
  std::optional<ScreenSyntaxError> syntax_error_;
  std::size_t folding_left_, code_left_, steps_left_;
};

// One text being read: the whole, or code in a string of it, whose findings stand where the string
// is used.
struct CodeReading {
  ScreenReport& report;
  std::optional<CodeSpan> within;
  unsigned depth = 0;
};

// Reads the code with the reader of its language. Only the outermost code can fail.
[[nodiscard]] Result<void> read_code(std::string_view code, Language language, CodeReading reading);

// Code in a string, found at `place`; too deep or too much is a `dynamic` finding.
void read_inner(std::string_view code, Language language, const CodeReading& outer, CodeSpan place);

// The command line of a process that is started without a shell.
void read_command(std::span<const std::string> words, const CodeReading& outer, CodeSpan place);

void screen_python(const SyntaxTree& tree, const CodeReading& reading);
void screen_javascript(const SyntaxTree& tree, const CodeReading& reading);
void screen_shell(const SyntaxTree& tree, const CodeReading& reading);
// See read_command; in shell_screen.cpp.
void screen_words(std::span<const std::string> words, const CodeReading& reading);

// Whether a text is, as a whole, the path of a file that only the system has to do with.
[[nodiscard]] bool is_system_path(std::string_view text);

// An identifier as Python compares it (NFKC, as far as it leads to ASCII): 𝓮𝓿𝓪𝓵 is eval.
[[nodiscard]] std::string plain_identifier(std::string_view text);

// Appends a character as UTF-8.
void append_utf8(std::string& text, std::uint32_t code);

}  // namespace sallyport
