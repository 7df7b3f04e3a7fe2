#include "redact/assignment.h"

#include <algorithm>

namespace sallyport {
namespace {

constexpr std::size_t kLongestName = 64, kMostBlanks = 16;

constexpr bool is_name(char c) {
  return is_alnum(c) || c == '_' || c == '-' || c == '.';
}

std::size_t skip_blanks(const Sight& sight, std::size_t i) {
  const std::size_t end = std::min(i + kMostBlanks, sight.text.size());
  while (i < end && is_blank(sight.text[i]))
    ++i;
  return i;
}

std::size_t skip_name(const Sight& sight, std::size_t i) {
  static constexpr CharClass kName{table_of(is_name), run_of::kName};
  return std::min(i + kLongestName, sight.run_end(i, kName));
}

// A quote, also as it is written inside a string: \" and \\\". How many characters it has.
std::size_t quote_at(const Sight& sight, std::size_t i) {
  std::size_t length = 0;
  while (length < 3 && i + length < sight.text.size() && sight.text[i + length] == '\\')
    ++length;
  if (i + length >= sight.text.size() || !is_quote(sight.text[i + length])) return 0;
  return length + 1;
}

// `name: type = value` of Python, TypeScript, Rust and the like: where the value begins.
std::size_t skip_type(const Sight& sight, std::size_t i) {
  std::size_t at = i;
  const std::size_t end = std::min(i + 40, sight.text.size());
  while (at < end &&
         (is_name(sight.text[at]) || std::string_view("[]<>|&*? ").contains(sight.text[at])))
    ++at;
  if (at == i || at >= sight.text.size() || sight.text[at] != '=' || sight[at + 1] == '=') return i;
  return skip_blanks(sight, at + 1);
}

// `Bearer x`: the x.
std::size_t skip_scheme(const Sight& sight, std::size_t i) {
  const std::string_view rest = sight.text.substr(i);
  if (rest.empty() || !std::string_view("abdgknst").contains(to_lower(rest[0]))) return i;
  for (const std::string_view scheme :
       {"bearer ", "basic ", "token ", "apikey ", "digest ", "negotiate ", "ntlm ", "bot ", "key ",
        "splunk ", "ssws ", "sharedkey ", "geniekey ", "aws4-hmac-sha256 "})
    if (begins_caseless(rest, scheme)) return skip_blanks(sight, i + scheme.size());
  return i;
}

// Where the value begins: behind the sign that gives it. 0: there is no such sign.
std::size_t skip_sign(const Sight& sight, std::size_t i, bool quoted_name, Assigned& assigned) {
  using enum Assigned::By;
  const std::size_t from = i;
  i = skip_blanks(sight, i);
  assigned.spaced = i > from;
  const std::string_view rest = sight.text.substr(i);
  const auto value = [&](Assigned::By by, std::size_t length) {
    assigned.by = by;
    const std::size_t next = skip_blanks(sight, i + length);
    assigned.spaced = assigned.spaced || next > i + length;
    return next;
  };
  if (rest.starts_with("===") || rest.starts_with("!==")) return value(compare, 3);
  if (rest.starts_with("==") || rest.starts_with("!=")) return value(compare, 2);
  if (rest.starts_with(":=") || rest.starts_with("=>")) return value(equals, 2);
  if (rest.starts_with("=")) return value(equals, 1);
  if (rest.starts_with("::")) return 0;
  if (rest.starts_with(":")) return skip_type(sight, value(colon, 1));
  if (rest.starts_with(">") && !assigned.spaced) return value(tag, 1);
  if (rest.starts_with("(") && quote_at(sight, i + 1) > 0) return value(call, 1);
  if (quoted_name && rest.starts_with(",") && quote_at(sight, skip_blanks(sight, i + 1)) > 0)
    return value(comma, 1);
  if (quoted_name && rest.starts_with("value=")) return value(equals, 6);
  if (!assigned.spaced) return 0;
  if (begins_caseless(rest, "is ")) return value(word, 3);
  if (begins_caseless(rest, "was ")) return value(word, 4);
  if (assigned.name.starts_with('-') && !rest.starts_with('-')) return value(flag, 0);
  if (quote_at(sight, i) > 0) return value(blank, 0);
  return 0;
}

// The end of a value in quotes of `quote`, or as much of its line as is seen.
std::size_t quoted_end(const Sight& sight, std::size_t i, std::string_view quote) {
  for (; i < sight.text.size() && sight.text[i] != '\n'; ++i) {
    if (sight.text.substr(i).starts_with(quote)) break;
    if (sight.text[i] == '\\' && quote.size() == 1 && i + 1 < sight.text.size()) ++i;
  }
  return std::min(i, sight.text.size());
}

// All but blanks, ends of lines and `signs`.
constexpr CharTable all_but(std::string_view signs) {
  return table_of([&](char c) { return !is_space(c) && !signs.contains(c); });
}

std::size_t bare_end(const Sight& sight, std::size_t i, const Assigned& assigned) {
  // A line of an env file is its value up to the first blank.
  const bool env_line = assigned.by == Assigned::By::equals && !assigned.spaced &&
                        assigned.begins_line && std::ranges::none_of(assigned.name, is_lower);
  static constexpr CharClass kEnvValue{all_but("\"'`"), run_of::kEnvValue};
  static constexpr CharClass kBareValue{all_but(",;&\"'`<>)}]|\\"), run_of::kBareValue};
  return sight.run_end(i, env_line ? kEnvValue : kBareValue);
}

}  // namespace

std::optional<Assigned> assigned_value(const Sight& sight) {
  Assigned assigned;
  std::size_t i = skip_name(sight, sight.at);
  // An anchor of two words: the name goes on behind the second.
  if (i + 1 < sight.after && is_blank(sight.text[i])) i = skip_name(sight, sight.after);
  // Longer than names are: no sign follows.
  if (i >= sight.text.size() || is_name(sight.text[i])) return std::nullopt;
  std::size_t begin = sight.at;
  while (begin > 0 && sight.at - begin < kLongestName && is_name(sight.text[begin - 1]))
    --begin;
  assigned.name = sight.text.substr(begin, i - begin);
  assigned.behind = i > sight.after ? sight.text.substr(sight.after, i - sight.after) : "";

  std::size_t line = begin;
  while (line > 0 && begin - line < kMostBlanks &&
         (is_blank(sight.text[line - 1]) || sight.text[line - 1] == '-'))
    --line;
  if (sight.text.substr(0, line).ends_with("export")) line -= 6;
  assigned.begins_line = line == 0 || sight.text[line - 1] == '\n';

  const std::size_t closing = quote_at(sight, i);
  i += closing;
  if (sight[i] == ']' && i < sight.text.size()) ++i;
  while (i < sight.text.size() && sight.text[i] == '*' && i - sight.after < kLongestName)
    ++i;
  i = skip_sign(sight, i, closing > 0, assigned);
  if (i == 0 || i >= sight.text.size()) return std::nullopt;

  // Strings with a prefix: b"", f"", rb"".
  std::size_t prefix = 0;
  while (prefix < 2 && i + prefix < sight.text.size() &&
         std::string_view("bfruBFRU@").contains(sight.text[i + prefix]))
    ++prefix;
  if (quote_at(sight, i + prefix) > 0) i += prefix;

  if (const std::size_t length = quote_at(sight, i); length > 0) {
    const std::string_view quote = sight.text.substr(i, length);
    i += length;
    // Three quotes in a row begin a string, too.
    if (sight.text.substr(i).starts_with(quote) && sight.text.substr(i + length).starts_with(quote))
      i += 2 * length;
    assigned.quoted = true;
    i = skip_scheme(sight, i);
    assigned.value = {i, quoted_end(sight, i, quote)};
  } else {
    i = skip_scheme(sight, i);
    assigned.value = {i, bare_end(sight, i, assigned)};
    std::size_t end = skip_blanks(sight, assigned.value.end);
    assigned.ends_line = end >= sight.text.size()
                             ? !sight.open && !sight.marker
                             : sight.text[end] == '\n' || sight.text[end] == '\r';
  }
  if (assigned.value.begin >= assigned.value.end) return std::nullopt;
  // The rest of the value has been redacted already.
  if (sight.marker && assigned.value.end == sight.text.size()) return std::nullopt;
  return assigned;
}

}  // namespace sallyport
