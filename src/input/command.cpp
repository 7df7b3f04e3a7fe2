#include "input/command.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "input/string_value.h"

namespace sallyport {
namespace {

// What a shell reads as syntax where a command would begin.
constexpr std::string_view kReservedWords[] = {
    "!",  "{",  "}",    "case",  "do", "done", "elif",  "else",     "esac",   "fi",   "for",
    "if", "in", "then", "until", "[[", "]]",   "while", "function", "select", "time", "coproc"};

struct Special {
  char character;
  std::string_view meaning;
};

// Special wherever it stands unquoted.
constexpr Special kSpecial[] = {
    {'|', "a pipe"},
    {'&', "an operator"},
    {';', "a command separator"},
    {'<', "a redirection"},
    {'>', "a redirection"},
    {'(', "a subshell"},
    {')', "a subshell"},
    {'$', "an expansion"},
    {'`', "a command substitution"},
    {'\n', "a line break"},
    {'*', "a file name pattern"},
    {'?', "a file name pattern"},
    {'[', "a file name pattern"},
};

std::optional<std::string_view> special_meaning(char c) {
  const auto* row = std::ranges::find(kSpecial, c, &Special::character);
  if (row == std::end(kSpecial)) return std::nullopt;
  return row->meaning;
}

constexpr bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// One word with, for each byte, whether it was quoted: only unquoted bytes mean anything to a
// shell.
struct Word {
  std::string text;
  std::string unquoted;  // as long as text; '\0' where a byte was quoted
  bool any_quotes = false;

  void add(char c, bool was_quoted) {
    text.push_back(c);
    unquoted.push_back(was_quoted ? '\0' : c);
  }
};

class LineReader {
 public:
  explicit LineReader(std::string_view line) : line_(line) {}

  Result<std::vector<std::string>> words() {
    std::vector<std::string> words;
    while (true) {
      while (at_ < line_.size() && (line_[at_] == ' ' || line_[at_] == '\t'))
        ++at_;
      if (at_ == line_.size()) return words;
      const std::size_t start = at_;
      Result<Word> word = next_word();
      if (!word) return std::unexpected(std::move(word.error()));
      if (const auto meaning = meaning_of_word(*word, words.empty()))
        return refused(start, line_.substr(start, at_ - start), *meaning);
      words.push_back(std::move(word->text));
      if (words.size() > kMostCommandWords)
        return fail(Reason::argument, "the command has too many words",
                    "at most " + std::to_string(kMostCommandWords) + " are allowed");
    }
  }

 private:
  // At a byte that is neither blank nor the end.
  Result<Word> next_word() {
    Word word;
    for (; at_ < line_.size() && line_[at_] != ' ' && line_[at_] != '\t'; ++at_) {
      const char c = line_[at_];
      if (c == '\'' || c == '"') {
        word.any_quotes = true;
        const std::size_t start = at_;
        if (Result<void> read = c == '\'' ? single_quotes(word) : double_quotes(word); !read)
          return std::unexpected(std::move(read.error()));
        if (at_ == line_.size())
          return fail(Reason::argument,
                      "the quotation mark at column " + column(start) + " is not closed",
                      std::string("close it with ") + c);
      } else if (c == '\\') {
        word.any_quotes = true;
        if (++at_ == line_.size())
          return fail(Reason::argument, "the command ends with a backslash",
                      "write a backslash as '\\'");
        if (line_[at_] == '\n') return refused(at_, "\n", "a line continuation");
        word.add(line_[at_], true);
      } else if (const auto meaning = special_meaning(c)) {
        return refused(at_, line_.substr(at_, 1), *meaning);
      } else {
        word.add(c, false);
      }
    }
    return word;
  }

  // Both leave at_ on the closing mark, or at the end without one.
  Result<void> single_quotes(Word& word) {
    for (++at_; at_ < line_.size() && line_[at_] != '\''; ++at_)
      word.add(line_[at_], true);
    return {};
  }

  Result<void> double_quotes(Word& word) {
    for (++at_; at_ < line_.size() && line_[at_] != '"'; ++at_) {
      const char c = line_[at_];
      if (c == '$' || c == '`')
        return refused(at_, line_.substr(at_, 1), *special_meaning(c),
                       "use single quotes to mean the character itself");
      if (c == '\\' && at_ + 1 < line_.size()) {
        const char next = line_[at_ + 1];
        if (next == '\n') return refused(at_ + 1, "\n", "a line continuation");
        // Before any other character, the backslash stands for itself.
        if (next == '$' || next == '`' || next == '"' || next == '\\') ++at_;
      }
      word.add(line_[at_], true);
    }
    return {};
  }

  // What a shell would do with a word that holds nothing special by itself.
  static std::optional<std::string_view> meaning_of_word(const Word& word, bool first) {
    const std::string_view bare = word.unquoted;
    if (bare.starts_with('#')) return "a comment";
    for (std::size_t i = 0; i < bare.size(); ++i)
      if (bare[i] == '~' && (i == 0 || bare[i - 1] == '=' || bare[i - 1] == ':'))
        return "a home directory";
    if (const std::size_t brace = bare.find('{'); brace != std::string_view::npos) {
      const std::string_view behind = bare.substr(brace);
      if (behind.contains(',') || behind.contains("..")) return "a brace expansion";
    }
    if (!first) return std::nullopt;
    if (!word.any_quotes && std::ranges::find(kReservedWords, bare) != std::end(kReservedWords))
      return "a reserved word of the shell";
    const std::size_t name =
        static_cast<std::size_t>(std::ranges::find_if_not(bare, is_name_character) - bare.begin());
    if (name > 0 && (bare.substr(name).starts_with('=') || bare.substr(name).starts_with("+=")))
      return "a variable assignment";
    return std::nullopt;
  }

  std::unexpected<Error> refused(std::size_t position, std::string_view found,
                                 std::string_view meaning,
                                 std::string hint =
                                     "give one command without shell syntax; quote what is meant "
                                     "literally") const {
    return fail(Reason::argument,
                quoted(found) + " at column " + column(position) + " is " + std::string(meaning) +
                    " to a shell, and there is no shell",
                std::move(hint));
  }

  // In characters, from 1.
  [[nodiscard]] std::string column(std::size_t position) const {
    const auto count = std::ranges::count_if(line_.substr(0, position), [](char byte) {
      return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
    });
    return std::to_string(count + 1);
  }

  std::string_view line_;
  std::size_t at_ = 0;
};

std::unexpected<Error> too_long() {
  return fail(Reason::argument, "the command is too long",
              "at most " + std::to_string(kLongestCommand) + " bytes are allowed");
}

}  // namespace

std::string Command::to_text() const {
  std::string line;
  for (const std::string& word : words_) {
    if (!line.empty()) line.push_back(' ');
    // As the first word, a reserved word is one only without quotes.
    const bool reserved =
        line.empty() && std::ranges::find(kReservedWords, word) != std::end(kReservedWords);
    line.append(reserved ? "'" + word + "'" : shell_quote(word));
  }
  return line;
}

Result<Command> parse_command(std::string_view line) {
  if (line.size() > kLongestCommand) return too_long();
  if (const auto unfit = unfit_character(line, Layout::many_lines))
    return fail(Reason::argument, "the command " + *unfit,
                "use plain UTF-8 text without control and invisible characters");
  Result<std::vector<std::string>> words = LineReader(line).words();
  if (!words) return std::unexpected(std::move(words.error()));
  return command_from_words(std::move(*words));
}

Result<Command> command_from_words(std::vector<std::string> words) {
  if (words.empty() || words[0].empty())
    return fail(Reason::argument, "there is no command", "name a program and its arguments");
  if (words.size() > kMostCommandWords)
    return fail(Reason::argument, "the command has too many words",
                "at most " + std::to_string(kMostCommandWords) + " are allowed");
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    bytes += words[i].size() + 1;
    if (bytes > kLongestCommand + 1) return too_long();
    if (const auto unfit = unfit_character(words[i], Layout::many_lines))
      return fail(Reason::argument, "word " + std::to_string(i + 1) + " of the command " + *unfit,
                  "use plain UTF-8 text without control and invisible characters");
  }
  return Command(std::move(words));
}

}  // namespace sallyport
