// The words of a shell script after its expansions, as far as they do not depend on the run.
#include <algorithm>

#include "base/base64.h"
#include "base/text.h"
#include "screen/python_reader.h"
#include "screen/shell_reader.h"

namespace sallyport {
namespace {

constexpr std::size_t kMostWords = 4;  // that one word may be
constexpr unsigned kDeepestWord = 40;
constexpr char kSplit = '\x01';  // a blank from an expansion, where a word ends

std::string without_backslashes(std::string_view text, std::string_view only) {
  std::string result;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\\' && at + 1 < text.size() && (only.empty() || only.contains(text[at + 1]))) {
      ++at;
      if (text[at] != '\n') result.push_back(text[at]);
    } else {
      result.push_back(text[at]);
    }
  }
  return result;
}

std::string printed(std::string_view format, std::span<const ShellWord> words) {
  std::string text = python_unescape(format, true);
  std::size_t next = 0;
  std::string result;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '%' && at + 1 < text.size()) {
      ++at;
      if (text[at] == 's' || text[at] == 'b') {
        if (next < words.size()) result.append(words[next++].text);
      } else if (text[at] == '%') {
        result.push_back('%');
      }
    } else {
      result.push_back(text[at]);
    }
  }
  return result;
}

void add_words(std::vector<ShellWord>& words, const ShellWord& value, bool splits) {
  std::string_view rest = value.text;
  const std::string_view blanks = splits ? std::string_view("\x01 \t\n") : "\x01";
  if (rest.find_first_of(blanks) == std::string_view::npos) {
    words.push_back(value);
    return;
  }
  for (std::size_t count = 0; count < kMostFoldedItems; ++count) {
    const std::size_t begin = rest.find_first_not_of(blanks);
    if (begin == std::string_view::npos) break;
    rest.remove_prefix(begin);
    const std::size_t end = std::min(rest.find_first_of(blanks), rest.size());
    words.push_back({std::string(rest.substr(0, end)), true});
    rest.remove_prefix(end);
  }
  if (!value.known && !words.empty()) words.back().known = false;
}

}  // namespace

// `whole` with `more` behind each of its values.
void ShellReader::append(Words& whole, const Words& more) {
  std::size_t bytes = 0;
  for (const ShellWord& word : more)
    bytes += word.text.size();
  if (more.size() > 1)
    for (const ShellWord& word : whole)
      bytes += word.text.size();
  if (!may_fold(bytes)) {
    for (ShellWord& word : whole)
      word.known = false;
    return;
  }
  const std::size_t before = whole.size();
  for (std::size_t value = more.size(); value-- > 0;)
    for (std::size_t at = 0; at < before; ++at) {
      if (value > 0 && whole.size() >= kMostWords) break;
      if (value > 0) whole.push_back(whole[at]);
      ShellWord& word = value > 0 ? whole.back() : whole[at];
      if (!word.known) continue;
      if (word.text.size() + more[value].text.size() <= kLongestFolded) {
        word.text.append(more[value].text);
        word.known = more[value].known;
      } else {
        word.known = false;
      }
    }
}

bool ShellReader::may_fold(std::size_t bytes) {
  if (reading_.report.spend_folding(bytes)) return true;
  exhausted_ = true;
  return false;
}

std::vector<ShellWord> ShellReader::expand_variable(std::string_view name) {
  if (name == "IFS") return {{std::string(1, kSplit), true}};
  if (name == "HOME") return {{"$HOME", true}};
  const auto found = variables_.find(name);
  if (found == variables_.end()) return {{"", false}};
  for (const ShellWord& word : found->second)
    if (!may_fold(word.text.size())) return {{"", false}};
  return found->second;
}

// ${x}, ${x:-rm}, ${x:=rm}
std::vector<ShellWord> ShellReader::expand_braces(NodeId id) {
  std::string_view text = tree_->text(id);
  if (text.size() < 4) return {{"", false}};
  text = text.substr(2, text.size() - 3);
  const std::size_t end = std::min(
      text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"),
      text.size());
  const std::string_view name = text.substr(0, end), rest = text.substr(end);
  if (name.empty()) return {{"", false}};
  Words values = expand_variable(name);
  const bool set = variables_.contains(name);
  if (rest.empty()) return values;
  // ${x:0:2} and the like of a known value
  if (rest.size() > 1 && rest[0] == ':' && rest[1] >= '0' && rest[1] <= '9' && set) {
    Words cut;
    for (const ShellWord& value : values) {
      std::size_t from = 0, count = std::string::npos;
      std::string_view numbers = rest.substr(1);
      const std::size_t colon = numbers.find(':');
      from = std::strtoul(std::string(numbers.substr(0, colon)).c_str(), nullptr, 10);
      if (colon != std::string_view::npos)
        count = std::strtoul(std::string(numbers.substr(colon + 1)).c_str(), nullptr, 10);
      cut.push_back({from <= value.text.size() ? value.text.substr(from, count) : "", value.known});
    }
    return cut;
  }
  const bool preset = rest.starts_with(":-") || rest.starts_with("-") || rest.starts_with(":=") ||
                      rest.starts_with("=");
  const bool instead = rest.starts_with(":+") || rest.starts_with("+");
  if (!preset && !instead) return {{"", false}};
  Words other;
  for (const NodeId part : tree_->named(id))
    if (tree_->kind(part) != Kind::variable_name) other = expand(part);
  if (preset && set) {
    other.insert(other.begin(), values.begin(), values.end());
    if (other.size() > kMostWords) other.resize(kMostWords);
  }
  return other.empty() ? Words{{"", !set}} : other;
}

// What echo and printf print.
ShellWord ShellReader::printed_by(const std::vector<ShellWord>& words) {
  if (words.empty() || !std::ranges::all_of(words, &ShellWord::known)) return {"", false};
  if (words[0].text == "printf" && words.size() > 1)
    return {printed(words[1].text, std::span(words).subspan(2)), true};
  if (words[0].text != "echo") return {"", false};
  std::string text;
  std::size_t at = 1;
  bool escapes = false;
  for (; at < words.size() && (words[at].text == "-n" || words[at].text == "-e" ||
                               words[at].text == "-ne" || words[at].text == "-en");
       ++at)
    escapes = escapes || words[at].text.contains('e');
  for (std::size_t i = at; i < words.size(); ++i)
    text.append(i > at ? " " : "").append(words[i].text);
  return {escapes ? python_unescape(text, true) : text, true};
}

// $(echo rm), `printf rm`
ShellWord ShellReader::output_of(NodeId substitution) {
  const auto parts = tree_->named(substitution);
  if (parts.size() != 1 || tree_->kind(parts[0]) != Kind::command) return {"", false};
  const auto commands = words_of(parts[0]);
  return commands.empty() ? ShellWord{"", false} : printed_by(commands[0]);
}

std::vector<ShellWord> ShellReader::expand(NodeId id) {
  if (id == kNoNode || depth_ > kDeepestWord || !reading_.report.spend_step()) return {{"", false}};
  ++depth_;
  Words whole{{"", true}};
  const std::string_view text = tree_->text(id);
  switch (tree_->kind(id)) {
    case Kind::word:
    case Kind::number:
    case Kind::variable_name:
      whole = {{without_backslashes(text, ""), true}};
      break;
    case Kind::raw_string:
      whole = {{std::string(text.size() >= 2 ? text.substr(1, text.size() - 2) : text), true}};
      break;
    case Kind::ansi_c_string:
      whole = {
          {python_unescape(text.size() >= 3 ? text.substr(2, text.size() - 3) : text, true), true}};
      break;
    case Kind::string_content:
    case Kind::heredoc_content:
      whole = {{without_backslashes(text, "\"\\$`\n"), true}};
      break;
    case Kind::simple_expansion: {
      const auto parts = tree_->named(id);
      whole = parts.empty() ? Words{{"", false}} : expand_variable(tree_->text(parts[0]));
      break;
    }
    case Kind::expansion:
      whole = expand_braces(id);
      break;
    case Kind::command_substitution:
      whole = {output_of(id)};
      break;
    case Kind::string:
    case Kind::translated_string:
    case Kind::concatenation:
    case Kind::command_name:
    case Kind::heredoc_body:
    case Kind::herestring_redirect: {
      // What stands between the parts (blanks in a string) belongs to it.
      const bool quotes = tree_->kind(id) == Kind::string || tree_->kind(id) == Kind::heredoc_body;
      std::uint32_t last = kNoNode;
      bool any = false;
      for (const NodeId part : tree_->named(id)) {
        if (quotes && last != kNoNode && (*tree_)[part].begin > last)
          append(whole,
                 {{std::string(tree_->code().substr(last, (*tree_)[part].begin - last)), true}});
        last = (*tree_)[part].end;
        append(whole, expand(part));
        any = true;
      }
      if (!any && tree_->kind(id) == Kind::heredoc_body) whole = {{std::string(text), true}};
      // "a, where a quoted blank would have been a word of its own
      if (tree_->kind(id) == Kind::string)
        for (ShellWord& word : whole)
          std::ranges::replace(word.text, kSplit, ' ');
      break;
    }
    default:
      whole = {{"", false}};
  }
  --depth_;
  return whole;
}

// The command with every word expanded; more than one where a word may be more than one.
std::vector<std::vector<ShellWord>> ShellReader::words_of(NodeId command) {
  std::vector<std::vector<ShellWord>> commands(1);
  for (const NodeId part : tree_->named(command)) {
    const SyntaxNode& node = (*tree_)[part];
    const Kind kind = node.kind;
    if (kind == Kind::variable_assignment || kind == Kind::file_redirect ||
        kind == Kind::heredoc_redirect || kind == Kind::herestring_redirect)
      continue;
    Words values = expand(part);
    // An unquoted variable falls into words at its blanks.
    const bool splits = kind == Kind::simple_expansion || kind == Kind::expansion ||
                        kind == Kind::command_substitution ||
                        (kind == Kind::command_name && tree_->kind(node.first) != Kind::string &&
                         tree_->kind(node.first) != Kind::raw_string &&
                         tree_->kind(node.first) != Kind::concatenation);
    // With separators of the script's own, its words are not what they look like.
    if (splits && kind == Kind::command_name && tree_->kind(node.first) != Kind::word &&
        variables_.contains("IFS"))
      for (ShellWord& word : values)
        word.known = false;
    // Every command so far, with every value: in place where there is only one.
    const std::size_t before = commands.size();
    for (std::size_t value = values.size(); value-- > 0;)
      for (std::size_t at = 0; at < before; ++at) {
        if (value > 0 && commands.size() >= kMostWords) break;
        if (value > 0) commands.push_back(commands[at]);
        add_words(value > 0 ? commands.back() : commands[at], values[value], splits);
      }
  }
  return commands;
}

void ShellReader::remember_assignment(NodeId id) {
  const std::string name(tree_->text(tree_->child(id, Field::name)));
  const NodeId value = tree_->child(id, Field::value);
  Words& values = variables_[name];
  const Words given = value == kNoNode                    ? Words{{"", true}}
                      : tree_->kind(value) == Kind::array ? Words{{"", false}}
                                                          : expand(value);
  // x+=y
  const bool adds = tree_->text(id).substr(name.size()).starts_with("+=");
  if (adds && !values.empty()) {
    append(values, given);
    return;
  }
  for (const ShellWord& word : given)
    if (values.size() < kMostWords) values.push_back(word);
}

void ShellReader::remember(NodeId id) {
  switch (tree_->kind(id)) {
    case Kind::variable_assignment:
      remember_assignment(id);
      break;
    case Kind::for_statement: {
      Words& values = variables_[std::string(tree_->text(tree_->child(id, Field::variable)))];
      for (const NodeId part : tree_->named(id))
        if ((*tree_)[part].field == Field::value)
          for (const ShellWord& word : expand(part))
            if (values.size() < kMostWords) values.push_back(word);
      if (values.empty()) values.push_back({"", false});
      break;
    }
    case Kind::function_definition:
      functions_.emplace(tree_->text(tree_->child(id, Field::name)));
      break;
    case Kind::command: {
      const NodeId name = tree_->child(id, Field::name);
      if (tree_->text(name) == "read" || tree_->text(name) == "mapfile" ||
          tree_->text(name) == "getopts") {
        for (const NodeId part : tree_->named(id))
          if (tree_->kind(part) == Kind::word && (*tree_)[part].field == Field::argument)
            variables_[std::string(tree_->text(part))] = {{"", false}};
      } else if (tree_->text(name) == "alias") {
        for (const auto& words : words_of(id))
          for (const ShellWord& word : words)
            if (const std::size_t equals = word.text.find('=');
                equals != std::string::npos && word.known)
              aliases_[word.text.substr(0, equals)] = word.text.substr(equals + 1);
      }
      break;
    }
    default:
      break;
  }
}

}  // namespace sallyport
