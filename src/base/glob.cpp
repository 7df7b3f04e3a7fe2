#include "base/glob.h"

#include <algorithm>
#include <cstddef>

#include "base/text.h"

namespace sallyport {
namespace {

constexpr std::size_t kLongestGlob = 4096;

// Beyond the last code of Unicode, so that a byte that is not UTF-8 matches itself and nothing
// else.
constexpr char32_t kByteBase = 0x110000;

std::u32string characters(std::string_view text) {
  std::u32string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const Utf8Char c = first_utf8_char(text);
    if (c.valid) {
      result.push_back(c.code);
    } else {
      for (const char byte : text.substr(0, c.length))
        result.push_back(kByteBase + static_cast<unsigned char>(byte));
    }
    text.remove_prefix(c.length);
  }
  return result;
}

std::unexpected<Error> refuse(std::string_view glob, std::string_view what, std::string hint) {
  return fail(Reason::argument,
              std::string("the glob ").append(quoted(glob)).append(" ").append(what),
              std::move(hint));
}

}  // namespace

// `rest` begins behind the '['.
Result<Glob::Token> Glob::parse_set(std::u32string_view& rest, std::string_view text) {
  const auto unclosed = [&] {
    return refuse(text, "has a '[' without its ']'", "write \\[ for a '[' itself");
  };
  Token set{.kind = Kind::set};
  if (rest.starts_with(U'!') || rest.starts_with(U'^')) {
    set.negated = true;
    rest.remove_prefix(1);
  }
  const auto take = [&rest] {
    if (rest.starts_with(U'\\') && rest.size() > 1) rest.remove_prefix(1);
    const char32_t c = rest[0];
    rest.remove_prefix(1);
    return c;
  };
  // A ']' in first place stands for itself, as in a shell.
  for (bool first = true; first || !rest.starts_with(U']'); first = false) {
    if (rest.empty()) return unclosed();
    if (rest.starts_with(U"[:"))
      return refuse(text, "has a named class such as [:alpha:]",
                    "write its characters, such as [a-zA-Z]");
    const char32_t low = take();
    char32_t high = low;
    if (rest.size() > 1 && rest[0] == U'-' && rest[1] != U']') {
      rest.remove_prefix(1);
      high = take();
    }
    if (high < low) return refuse(text, "has a range that runs backwards", "write it as [a-z]");
    set.ranges.emplace_back(low, high);
  }
  rest.remove_prefix(1);
  return set;
}

Result<Glob> Glob::parse(std::string_view text) {
  if (text.empty()) return fail(Reason::argument, "the glob is empty", "write one such as '*.csv'");
  if (text.size() > kLongestGlob)
    return refuse(text, "is longer than 4096 bytes", "write a shorter one");
  if (text.find('\0') != std::string_view::npos)
    return refuse(text, "contains a NUL byte", "no file name does");
  if (text.starts_with('/'))
    return refuse(text, "begins with '/'", "write it relative, such as 'results/*.csv'");
  if (const auto odd = irregular_component(text)) {
    if (odd->empty())
      return refuse(text, "has an empty component",
                    "write one '/' between names and none at the end");
    return refuse(text, std::string("has the component ").append(quoted(*odd)),
                  "write it relative to the directory itself, such as 'results/*.csv'");
  }

  Glob glob;
  const std::u32string all = characters(text);
  std::u32string_view rest = all;
  bool component_begins = true;
  while (!rest.empty()) {
    const char32_t c = rest[0];
    rest.remove_prefix(1);
    const bool at_begin = std::exchange(component_begins, c == U'/');
    if (c == U'?') {
      glob.tokens_.push_back({.kind = Kind::any_character});
    } else if (c == U'[') {
      auto set = parse_set(rest, text);
      if (!set) return std::unexpected(std::move(set.error()));
      glob.tokens_.push_back(std::move(*set));
    } else if (c == U'*' && !rest.starts_with(U'*')) {
      glob.tokens_.push_back({.kind = Kind::run});
    } else if (c == U'*') {
      rest.remove_prefix(std::min(rest.find_first_not_of(U'*'), rest.size()));
      if (at_begin && rest.starts_with(U'/'))
        glob.tokens_.push_back({.kind = Kind::maybe_directories});
      glob.tokens_.push_back({.kind = Kind::run_with_slashes});
    } else if (c == U'\\') {
      if (rest.empty()) return refuse(text, "ends in a '\\'", "write \\\\ for a '\\' itself");
      glob.tokens_.push_back({.character = rest[0]});
      rest.remove_prefix(1);
    } else {
      glob.tokens_.push_back({.character = c});
    }
  }
  return glob;
}

bool Glob::accepts(const Token& token, char32_t c) {
  switch (token.kind) {
    case Kind::character:
      return c == token.character;
    case Kind::any_character:
    case Kind::run:
      return c != U'/';
    case Kind::set:
      return c != U'/' &&
             token.negated != std::ranges::any_of(token.ranges, [c](const auto& range) {
               return range.first <= c && c <= range.second;
             });
    case Kind::run_with_slashes:
      return true;
    case Kind::maybe_directories:
      return false;
  }
  return false;
}

// Follows all the ways through the glob side by side, one set of places per character, so that
// there is nothing to backtrack.
bool Glob::matches(std::string_view path) const {
  const auto is_run = [](Kind kind) { return kind == Kind::run || kind == Kind::run_with_slashes; };
  const auto leave_out_what_is_optional = [&](std::vector<bool>& places) {
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (!places[i]) continue;
      if (is_run(tokens_[i].kind)) places[i + 1] = true;
      if (tokens_[i].kind == Kind::maybe_directories) places[i + 1] = places[i + 3] = true;
    }
  };

  std::vector<bool> places(tokens_.size() + 1), next(tokens_.size() + 1);
  places[0] = true;
  leave_out_what_is_optional(places);
  for (const char32_t c : characters(path)) {
    next.assign(next.size(), false);
    for (std::size_t i = 0; i < tokens_.size(); ++i)
      if (places[i] && accepts(tokens_[i], c)) next[is_run(tokens_[i].kind) ? i : i + 1] = true;
    leave_out_what_is_optional(next);
    places.swap(next);
  }
  return places[tokens_.size()];
}

}  // namespace sallyport
