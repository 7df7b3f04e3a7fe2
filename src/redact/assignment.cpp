#include "redact/assignment.h"

#include <algorithm>

namespace sallyport {
namespace {

constexpr std::size_t kLongestName = 64, kMostBlanks = 16, kLongestType = 40, kLongestQuote = 4;

std::size_t skip_blanks(const Sight& sight, std::size_t i) {
  const std::size_t end = std::min(i + kMostBlanks, sight.text.size());
  while (i < end && is_blank(sight.text[i]))
    ++i;
  return i;
}

std::size_t skip_name(const Sight& sight, std::size_t i) {
  return std::min(i + kLongestName, sight.run_end(i, kName));
}

// A quote, also as it is written inside a string: \" and \\\". How many characters it has.
std::size_t quote_at(const Sight& sight, std::size_t i) {
  if (const char first = sight[i]; first != '\\' && !is_quote(first)) return 0;
  std::size_t length = 0;
  while (length < 3 && i + length < sight.text.size() && sight.text[i + length] == '\\')
    ++length;
  if (i + length >= sight.text.size() || !is_quote(sight.text[i + length])) return 0;
  return length + 1;
}

// `name: type = value` of Python, TypeScript, Rust and the like: where the value begins.
std::size_t skip_type(const Sight& sight, std::size_t i) {
  static constexpr CharTable kType =
      table_of([](char c) { return is_name(c) || std::string_view("[]<>|&*? ").contains(c); });
  std::size_t at = i;
  const std::size_t end = std::min(i + kLongestType, sight.text.size());
  while (at < end && kType[static_cast<unsigned char>(sight.text[at])])
    ++at;
  if (at == i || at >= sight.text.size() || sight.text[at] != '=' || sight[at + 1] == '=') return i;
  return skip_blanks(sight, at + 1);
}

// `Bearer x`: the x.
std::size_t skip_scheme(const Sight& sight, std::size_t i) {
  static constexpr std::string_view kSchemes[] = {
      "bearer ", "basic ", "token ",  "apikey ", "digest ",    "negotiate ", "ntlm ",
      "bot ",    "key ",   "splunk ", "ssws ",   "sharedkey ", "geniekey ",  "aws4-hmac-sha256 "};
  static constexpr CharTable kFirst = table_of([](char c) {
    return std::ranges::any_of(kSchemes,
                               [&](std::string_view scheme) { return scheme[0] == to_lower(c); });
  });
  const std::string_view rest = sight.text.substr(i);
  if (rest.empty() || !kFirst[static_cast<unsigned char>(rest[0])]) return i;
  for (const std::string_view scheme : kSchemes)
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
  const auto is = [&](std::size_t at, char c) { return at < rest.size() && rest[at] == c; };
  const auto value = [&](Assigned::By by, std::size_t length) {
    assigned.by = by;
    const std::size_t next = skip_blanks(sight, i + length);
    assigned.spaced = assigned.spaced || next > i + length;
    return next;
  };
  switch (rest.empty() ? '\0' : rest[0]) {
    case '=':
      if (is(1, '=')) return value(compare, is(2, '=') ? 3 : 2);
      return value(equals, is(1, '>') ? 2 : 1);
    case '!':
      if (is(1, '=')) return value(compare, is(2, '=') ? 3 : 2);
      break;
    case ':':
      if (is(1, '=')) return value(equals, 2);
      if (is(1, ':')) return 0;
      return skip_type(sight, value(colon, 1));
    case '>':
      if (!assigned.spaced) return value(tag, 1);
      break;
    case '(':
      if (quote_at(sight, i + 1) > 0) return value(call, 1);
      break;
    case ',':
      if (quoted_name && quote_at(sight, skip_blanks(sight, i + 1)) > 0) return value(comma, 1);
      break;
    default:
      break;
  }
  if (quoted_name && rest.starts_with("value=")) return value(equals, 6);
  if (!assigned.spaced) return 0;
  if (begins_caseless(rest, "is ")) return value(word, 3);
  if (begins_caseless(rest, "was ")) return value(word, 4);
  if (assigned.name.starts_with('-') && !rest.starts_with('-')) return value(flag, 0);
  if (quote_at(sight, i) > 0) return value(blank, 0);
  return 0;
}

// The end of a value in quotes, or as much of its line as is seen. `search`: the end does not stand
// before this, whatever the window; searches in other windows begin there.
std::size_t quoted_end(const Sight& sight, std::string_view quote, std::size_t& search) {
  const std::string_view text = sight.text;
  std::size_t i = search;
  for (; i < text.size() && text[i] != '\n'; ++i) {
    if (i + kLongestQuote <= text.size()) search = i;
    if (text[i] == quote[0] && text.substr(i).starts_with(quote)) break;
    if (text[i] == '\\' && quote.size() == 1 && i + 1 < text.size()) ++i;
  }
  return std::min(i, text.size());
}

// All but blanks, ends of lines and `signs`.
constexpr CharTable all_but(std::string_view signs) {
  return table_of([&](char c) { return !is_space(c) && !signs.contains(c); });
}

std::size_t bare_end(const Sight& sight, std::size_t i, bool env_line) {
  static constexpr CharClass kEnvValue{all_but("\"'`"), run_of::kEnvValue};
  static constexpr CharClass kBareValue{all_but(",;&\"'`<>)}]|\\"), run_of::kBareValue};
  return sight.run_end(i, env_line ? kEnvValue : kBareValue);
}

// Whether what is remembered of a name is that of the name from the anchor to `end`, and was seen
// as it is seen now.
bool is_same_name(const Sight& sight, const SeenName& seen, std::size_t end) {
  const std::size_t begin = seen.name.begin;
  return seen.depends > 0 && seen.depends <= sight.text.size() && seen.name.end == end &&
         begin <= sight.at && sight.at <= seen.word_end && sight.at - begin <= kLongestName &&
         (begin == 0 || !kName(sight.text[begin - 1])) &&
         seen.signs_end <= sight.after + kLongestName;
}

bool begins_line(const Sight& sight, std::size_t name) {
  std::size_t line = name;
  while (line > 0 && name - line < kMostBlanks &&
         (is_blank(sight.text[line - 1]) || sight.text[line - 1] == '-'))
    --line;
  if (line > 0 && sight.text[line - 1] == 't' && sight.text.substr(0, line).ends_with("export"))
    line -= 6;
  return line == 0 || sight.text[line - 1] == '\n';
}

// Where the value of a name begins; 0: there is none.
std::size_t value_begin(const Sight& sight, SeenName& seen) {
  std::size_t i = seen.name.end;
  const std::size_t closing = quote_at(sight, i);
  i += closing;
  if (sight[i] == ']' && i < sight.text.size()) ++i;
  while (i < sight.text.size() && sight.text[i] == '*' && i - sight.after < kLongestName)
    ++i;
  seen.signs_end = i;
  Assigned& assigned = seen.assigned;
  i = skip_sign(sight, i, closing > 0, assigned);
  if (i == 0 || i >= sight.text.size()) return 0;

  // Strings with a prefix: b"", f"", rb"".
  static constexpr CharTable kPrefix =
      table_of([](char c) { return std::string_view("bfruBFRU@").contains(c); });
  std::size_t prefix = 0;
  while (prefix < 2 && i + prefix < sight.text.size() &&
         kPrefix[static_cast<unsigned char>(sight.text[i + prefix])])
    ++prefix;
  if (quote_at(sight, i + prefix) > 0) i += prefix;

  if (const std::size_t length = quote_at(sight, i); length > 0) {
    seen.quote = {i, i + length};
    const std::string_view quote = sight.text.substr(i, length);
    i += length;
    // Three quotes in a row begin a string, too.
    if (sight.text.substr(i).starts_with(quote) && sight.text.substr(i + length).starts_with(quote))
      i += 2 * length;
    assigned.quoted = true;
  }
  return skip_scheme(sight, i);
}

void read_name(const Sight& sight, std::size_t word_end, std::size_t end, SeenName& seen) {
  seen = {};
  std::size_t begin = sight.at;
  while (begin > 0 && sight.at - begin < kLongestName && kName(sight.text[begin - 1]))
    --begin;
  seen.name = {begin, end};
  seen.word_end = word_end;
  Assigned& assigned = seen.assigned;
  assigned.name = sight.text.substr(begin, end - begin);
  assigned.begins_line = begins_line(sight, begin);
  assigned.value.begin = seen.quote_search = value_begin(sight, seen);
  // A line of an env file is its value up to the first blank.
  seen.env_line = assigned.by == Assigned::By::equals && !assigned.spaced && assigned.begins_line &&
                  std::ranges::none_of(assigned.name, is_lower);
  assigned.name = {};
  // No step above looks further than this behind where it ends.
  constexpr std::size_t kFurthest = 128;
  const std::size_t depends = std::max(seen.signs_end, assigned.value.begin) + kFurthest;
  const bool all_stars = seen.signs_end < sight.text.size() && sight.text[seen.signs_end] == '*';
  if (depends <= sight.text.size() && !all_stars) seen.depends = depends;
}

}  // namespace

const Assigned* assigned_value(const Sight& sight) {
  const std::size_t word_end = skip_name(sight, sight.at);
  std::size_t i = word_end;
  // An anchor of two words: the name goes on behind the second.
  if (i + 1 < sight.after && is_blank(sight.text[i])) i = skip_name(sight, sight.after);
  // Longer than names are: no sign follows.
  if (i >= sight.text.size() || kName(sight.text[i])) return nullptr;

  SeenName& seen = sight.recall->seen_name();
  if (!is_same_name(sight, seen, i)) read_name(sight, word_end, i, seen);
  Assigned& assigned = seen.assigned;
  Found& value = assigned.value;
  if (value.begin == 0) return nullptr;
  assigned.name = sight.text.substr(seen.name.begin, i - seen.name.begin);
  assigned.behind = i > sight.after ? sight.text.substr(sight.after, i - sight.after) : "";
  if (assigned.quoted) {
    const Found& quote = seen.quote;
    value.end = quoted_end(sight, sight.text.substr(quote.begin, quote.end - quote.begin),
                           seen.quote_search);
  } else {
    value.end = bare_end(sight, value.begin, seen.env_line);
    const std::size_t end = skip_blanks(sight, value.end);
    assigned.ends_line = end >= sight.text.size()
                             ? !sight.open && !sight.marker
                             : sight.text[end] == '\n' || sight.text[end] == '\r';
  }
  if (value.begin >= value.end) return nullptr;
  // The rest of the value has been redacted already.
  if (sight.marker && value.end == sight.text.size()) return nullptr;
  return &assigned;
}

}  // namespace sallyport
