#include "redact/credentials.h"

#include <algorithm>

#include "redact/checks.h"

namespace sallyport {
namespace {

constexpr std::size_t kLongestLabel = 64, kLongestHeader = 200, kLongestCookieName = 100;
constexpr std::size_t kShortestLine = 16;  // of base64; the last line may be shorter

constexpr bool is_base64(char c) {
  return is_alnum(c) || c == '+' || c == '/' || c == '=';
}

constexpr CharClass kBase64Url{table_of([](char c) { return is_alnum(c) || c == '_' || c == '-'; }),
                               run_of::kBase64Url};

// What may stand between the lines of a key: line breaks, also as they are written within strings,
// and the signs of lists, comments and concatenated strings.
std::size_t skip_between(std::string_view text, std::size_t i) {
  for (; i < text.size(); ++i) {
    const char c = text[i];
    if (is_space(c) || is_quote(c) || c == ',' || c == '|' || c == '>' || c == '#' || c == '.' ||
        c == ';')
      continue;
    if (c == '\\') {
      if (i + 1 < text.size() && std::string_view("nrt").contains(text[i + 1])) ++i;
      continue;
    }
    if (c == '+' && i + 1 < text.size() && (is_space(text[i + 1]) || is_quote(text[i + 1])))
      continue;
    break;
  }
  return i;
}

// The end of a line like `-----END RSA PRIVATE KEY-----` that begins at `i`.
std::size_t end_of_label(std::string_view text, std::size_t i) {
  while (i < text.size() && text[i] == '-')
    ++i;
  const std::size_t most = std::min(i + kLongestLabel, text.size());
  while (i < most && (is_alnum(text[i]) || text[i] == ' '))
    ++i;
  while (i < text.size() && text[i] == '-')
    ++i;
  return i;
}

// The end of the lines of base64 that begin at `i`. `within`: a line began before `i`.
std::size_t body_end(const Sight& sight, std::size_t i, bool within) {
  const std::string_view text = sight.text;
  std::size_t end = i;
  bool long_before = within;
  bool first = within;
  int headers = within ? 99 : 0;
  while (i < text.size()) {
    const std::size_t begin = first ? i : skip_between(text, i);
    const std::string_view rest = text.substr(begin);
    if (rest.starts_with("-----END") || rest.starts_with("---- END"))
      return end_of_label(text, begin);
    std::size_t stop = begin;
    while (stop < text.size() && is_base64(text[stop]))
      ++stop;
    if (begin == text.size()) return sight.open ? begin : end;
    if (headers < 8 && stop > begin &&
        (stop < text.size() && (text[stop] == ':' || text[stop] == '-'))) {
      // Proc-Type, DEK-Info, Version, Comment
      const std::size_t line = text.substr(begin, kLongestHeader).find_first_of("\n\\");
      if (line == std::string_view::npos) return end;
      end = i = begin + line;
      ++headers;
      continue;
    }
    if (rest.starts_with("Private-MAC:")) {
      stop = begin + 12;
      while (stop < text.size() && (is_hex(text[stop]) || text[stop] == ' '))
        ++stop;
      return stop;
    }
    const std::size_t length = stop - begin;
    const bool goes_on = stop == text.size() && sight.open;
    if (length == 0 && !first) return end;
    const bool is_long = length >= kShortestLine;
    if (!first && !is_long && !long_before && !rest.starts_with('=') && !goes_on) return end;
    if (first && length == 0) {
      first = false;
      continue;
    }
    headers = 99;
    long_before = is_long || (first && length > 0);
    first = false;
    end = i = stop;
  }
  return end;
}

}  // namespace

std::optional<Found> url_password_at(const Sight& sight) {
  if (sight.at == 0 || !is_alnum(sight.text[sight.at - 1])) return std::nullopt;
  constexpr std::size_t kLongestLogin = 400;
  const std::size_t most = std::min(sight.after + kLongestLogin, sight.text.size());
  std::size_t colon = 0, at = 0, i = sight.after;
  bool only_digits = true;  // behind the colon
  for (; i < most; ++i) {
    const char c = sight.text[i];
    if (is_space(c) || is_quote(c) || c == '<' || c == '>' || c == '\\') break;
    if ((c == '/' || c == '?' || c == '#') && (colon == 0 || at != 0)) break;
    // A password with a slash is wrong, and seen all the same; a port is not one.
    if (c == '/' && only_digits) break;
    if (c == ':' && sight.text.substr(i).starts_with("://")) break;  // another URL
    only_digits = only_digits && (colon == 0 || is_digit(c));
    if (c == ':' && colon == 0) colon = i;
    if (c == '@') at = i;
    if (c == ',' && at != 0) break;
  }
  if (colon == 0 || at <= colon + 1) return std::nullopt;
  const std::string_view password = sight.text.substr(colon + 1, at - colon - 1);
  if (is_placeholder(password) || password.starts_with('$')) return std::nullopt;
  return Found{colon + 1, at};
}

std::optional<Found> cookie_at(const Sight& sight) {
  const std::string_view text = sight.text;
  std::size_t i = sight.after;
  if (i < text.size() && text[i] == '\\') ++i;
  if (i < text.size() && is_quote(text[i])) ++i;
  if (i < text.size() && text[i] == ']') ++i;
  const bool flag = sight.at >= 2 && text.substr(sight.at - 2, 2) == "--";
  std::size_t blanks = 0;
  for (; i < text.size() && is_blank(text[i]) && blanks < 8; ++i)
    ++blanks;
  if (i >= text.size()) return std::nullopt;
  if (text[i] == ':' || text[i] == '=')
    ++i;
  else if (!flag || blanks == 0)
    return std::nullopt;
  for (blanks = 0; i < text.size() && is_blank(text[i]) && blanks < 8; ++i)
    ++blanks;
  if (i < text.size() && text[i] == '\\') ++i;
  if (i < text.size() && is_quote(text[i])) ++i;
  std::size_t end = sight.run_end(i, kCookieValue);
  const std::string_view value = text.substr(i, end - i);
  const std::size_t equals = value.substr(0, kLongestCookieName + 1).find('=');
  if (equals == std::string_view::npos || equals == 0) return std::nullopt;
  const std::string_view name = value.substr(0, equals);
  if (!std::ranges::all_of(
          name, [](char c) { return is_alnum(c) || std::string_view("_-.$!%&*+^|~").contains(c); }))
    return std::nullopt;
  if (sight.at >= 4 && begins_caseless(text.substr(sight.at - 4), "set-")) {
    i += equals + 1;
    end = i + value.substr(equals + 1).find(';');
    if (end < i || end > text.size()) end = i + value.size() - equals - 1;
    if (end - i < 4) return std::nullopt;
  }
  while (end > i && is_blank(text[end - 1]))
    --end;
  if (end <= i || is_placeholder(text.substr(i, end - i))) return std::nullopt;
  if (sight.marker && end == text.size()) return std::nullopt;
  return Found{i, end};
}

std::optional<Found> jwt_at(const Sight& sight) {
  constexpr std::size_t kShortestHeader = 4, kShortestBody = 2;  // of the header behind its anchor
  constexpr int kMostParts = 3;                                  // behind the body
  const auto is_dot = [&](std::size_t i) { return i < sight.text.size() && sight.text[i] == '.'; };
  const std::size_t dot = sight.run_end(sight.after, kBase64Url);
  if (dot - sight.after < kShortestHeader || !is_dot(dot)) return std::nullopt;
  std::size_t end = sight.run_end(dot + 1, kBase64Url);
  if (end - dot - 1 < kShortestBody) return std::nullopt;
  for (int part = 0; part < kMostParts && is_dot(end); ++part)
    end = sight.run_end(end + 1, kBase64Url);
  if (sight.recall->is_no_header(sight.at, dot)) return std::nullopt;
  if (!is_jwt_header(sight.text.substr(sight.at, dot - sight.at))) {
    sight.recall->note_no_header(sight.at, dot);
    return std::nullopt;
  }
  return Found{sight.at, end};
}

std::optional<Found> key_block_at(const Sight& sight) {
  const std::string_view text = sight.text;
  if (text.substr(sight.at).starts_with("Private-Lines")) {
    std::size_t i = sight.after;
    while (i < text.size() && is_digit(text[i]))
      ++i;
    const std::size_t end = body_end(sight, i, false);
    if (end == i) return std::nullopt;
    return Found{sight.at, end};
  }
  const std::size_t label = end_of_label(text, sight.after);
  const std::string_view words = text.substr(sight.after, label - sight.after);
  if (!words.contains("PRIVATE KEY") || !words.ends_with("----")) return std::nullopt;
  const std::size_t end = body_end(sight, label, false);
  // A first line alone is a word about keys.
  if (end == label) return std::nullopt;
  return Found{sight.at, end};
}

std::optional<Found> more_of_key_block(const Sight& sight) {
  const std::size_t end = body_end(sight, sight.at, true);
  if (end == sight.at) return std::nullopt;
  return Found{sight.at, end};
}

}  // namespace sallyport
