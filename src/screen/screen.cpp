#include "screen/screen.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "screen/report.h"

namespace sallyport {
namespace {

constexpr unsigned kDeepestString = 4;  // code in a string in code in a string ...

struct LanguageWord {
  std::string_view word;
  Language language;
};

constexpr LanguageWord kLanguageWords[] = {
    {"python", Language::python},   {"python3", Language::python},
    {"py", Language::python},       {"pyw", Language::python},
    {"python2", Language::python},  {"pypy", Language::python},
    {"pypy3", Language::python},    {"javascript", Language::javascript},
    {"js", Language::javascript},   {"mjs", Language::javascript},
    {"cjs", Language::javascript},  {"jsx", Language::javascript},
    {"node", Language::javascript}, {"nodejs", Language::javascript},
    {"deno", Language::javascript}, {"bun", Language::javascript},
    {"shell", Language::shell},     {"sh", Language::shell},
    {"bash", Language::shell},      {"dash", Language::shell},
    {"zsh", Language::shell},       {"ksh", Language::shell},
    {"ash", Language::shell},
};

// The program of a "#!" line: the last part of its path, and behind env the first word that is
// neither an option nor an assignment.
std::string_view interpreter_of(std::string_view code) {
  if (!code.starts_with("#!")) return {};
  std::string_view line = code.substr(2, std::min(code.find('\n'), code.size()) - 2);
  while (true) {
    const std::size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) return {};
    line.remove_prefix(begin);
    std::string_view word = line.substr(0, line.find_first_of(" \t\r"));
    line.remove_prefix(word.size());
    if (word.starts_with('-') || word.contains('=')) continue;
    if (const std::size_t slash = word.rfind('/'); slash != std::string_view::npos)
      word.remove_prefix(slash + 1);
    if (word != "env") return word;
  }
}

}  // namespace

std::string_view name_of(Language language) {
  constexpr std::array<std::string_view, 3> kNames = {"python", "javascript", "shell"};
  return kNames[static_cast<std::size_t>(language)];
}

std::optional<Language> language_named(std::string_view name) {
  // python3.11 is python3
  if (const std::size_t dot = name.find('.'); dot != std::string_view::npos)
    name = name.substr(0, dot);
  for (const LanguageWord& row : kLanguageWords)
    if (row.word == name) return row.language;
  return std::nullopt;
}

std::optional<Language> language_of(std::string_view path, std::string_view code) {
  const std::size_t slash = path.rfind('/');
  const std::string_view file = slash == std::string_view::npos ? path : path.substr(slash + 1);
  if (const std::size_t dot = file.rfind('.'); dot != std::string_view::npos && dot != 0)
    if (const auto language = language_named(file.substr(dot + 1))) return language;
  return language_named(interpreter_of(code));
}

Result<void> read_code(std::string_view code, Language language, CodeReading reading) {
  const auto tree = SyntaxTree::parse(code, language);
  if (!tree) return std::unexpected(tree.error());
  if (const auto at = tree->error_at(); at && !reading.within) {
    const std::string_view rest = code.substr(std::min<std::size_t>(*at, code.size()), 200);
    const std::string_view line = rest.substr(0, rest.find('\n'));
    reading.report.set_syntax_error(
        *at, line.empty() ? "the code ends or breaks off here"
                          : "this is not " + std::string(name_of(language)) + ": " + quoted(line));
  }
  switch (language) {
    case Language::python:
      screen_python(*tree, reading);
      break;
    case Language::javascript:
      screen_javascript(*tree, reading);
      break;
    case Language::shell:
      screen_shell(*tree, reading);
      break;
  }
  return {};
}

void read_inner(std::string_view code, Language language, const CodeReading& outer,
                CodeSpan place) {
  const CodeSpan at = outer.within.value_or(place);
  if (outer.depth >= kDeepestString || !outer.report.spend_code(code.size()) ||
      !read_code(code, language, {outer.report, at, outer.depth + 1}))
    outer.report.add(ScreenKind::dynamic, at,
                     "code within strings is too long or too deep to read");
}

void read_command(std::span<const std::string> words, const CodeReading& outer, CodeSpan place) {
  if (outer.depth >= kDeepestString) return;
  screen_words(words, {outer.report, outer.within.value_or(place), outer.depth + 1});
}

Result<Screening> screen(std::string_view code, Language language) {
  if (code.size() > kLargestScreenedCode)
    return fail(Reason::screen,
                "the code is " + std::to_string(code.size()) + " bytes long, and no more than " +
                    std::to_string(kLargestScreenedCode) + " are screened",
                "split the program, or pass data as data");
  ScreenReport report(code);
  if (auto read = read_code(code, language, {report, std::nullopt, 0}); !read)
    return std::unexpected(std::move(read.error()));
  return report.take();
}

}  // namespace sallyport
