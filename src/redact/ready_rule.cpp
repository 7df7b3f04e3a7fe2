#include "redact/ready_rule.h"

#include <algorithm>
#include <utility>

#include "redact/sight.h"

namespace sallyport {
namespace {

// An expression that ends with a class of characters without a bound, at its end or at that of its
// group.
struct Tail {
  std::string_view before, chars, least, behind;  // before[chars]{least,}behind
};

std::optional<Tail> tail_of(std::string_view rest) {
  Tail tail;
  if (rest.ends_with(')')) {
    tail.behind = rest.substr(rest.size() - 1);
    rest.remove_suffix(1);
  }
  if (rest.ends_with("]*")) {
    tail.least = "0";
    rest.remove_suffix(1);
  } else if (rest.ends_with(",}")) {
    const std::size_t brace = rest.rfind('{');
    tail.least = rest.substr(brace + 1, rest.size() - brace - 3);
    rest = rest.substr(0, brace);
  }
  if (tail.least.empty() || !rest.ends_with(']')) return std::nullopt;
  const std::size_t begin = rest.rfind('[');
  tail.before = rest.substr(0, begin);
  tail.chars = rest.substr(begin);
  // The group that is still open, if one is, has to be the one that is taken out.
  std::vector<std::size_t> groups;
  for (std::size_t i = 0; i < tail.before.size(); ++i) {
    if (tail.before[i] == '\\') {
      ++i;
    } else if (tail.before[i] == '[') {
      i = tail.before.find(']', i);
    } else if (tail.before[i] == '(') {
      groups.push_back(i);
    } else if (tail.before[i] == ')') {
      groups.pop_back();
    } else if (tail.before[i] == '|' && groups.empty()) {
      return std::nullopt;
    }
  }
  if (groups.size() != tail.behind.size()) return std::nullopt;
  if (!groups.empty() && tail.before.substr(groups[0]).starts_with("(?")) return std::nullopt;
  return tail;
}

// Those of the rules: equal classes share their number.
std::vector<CharTable>& known_classes() {
  static std::vector<CharTable> known;
  return known;
}

CharClass class_of(std::string_view chars, const RE2::Options& options) {
  std::vector<CharTable>& known = known_classes();
  const RE2 one(std::string(chars), options);
  const CharTable table =
      table_of([&](char c) { return RE2::FullMatch(re2::StringPiece(&c, 1), one); });
  auto same = std::ranges::find(known, table);
  if (same == known.end()) same = known.insert(same, table);
  return {table, run_of::kFirstOfRules + static_cast<std::uint32_t>(same - known.begin())};
}

// An expression that ends with a class of characters, so many of them.
struct CountedEnd {
  std::string_view before, chars;  // before[chars]{least,most}
  std::size_t least = 0, most = 0;
};

std::optional<CountedEnd> counted_end(std::string_view pattern) {
  const std::size_t brace = pattern.rfind('{'), begin = pattern.rfind('[');
  if (brace == std::string_view::npos || begin == std::string_view::npos || begin > brace ||
      pattern[brace - 1] != ']' || !pattern.ends_with('}') || pattern.find(']', begin) != brace - 1)
    return std::nullopt;
  CountedEnd end{.before = pattern.substr(0, begin), .chars = pattern.substr(begin, brace - begin)};
  const std::string count(pattern.substr(brace + 1, pattern.size() - brace - 2));
  const std::size_t comma = count.find(',');
  if (comma + 1 == count.size()) return std::nullopt;  // without a bound: that is a tail
  end.least = std::stoul(count);
  end.most = comma == std::string::npos ? end.least : std::stoul(count.substr(comma + 1));
  return end;
}

// A class of characters that an expression begins with, or one character; and how many of them at
// least.
std::optional<CountedEnd> counted_begin(std::string_view pattern) {
  if (!pattern.empty() && is_alnum(pattern[0]) && !pattern.contains('|') &&
      (pattern.size() == 1 || !std::string_view("*?+{").contains(pattern[1])))
    return CountedEnd{.before = {}, .chars = pattern.substr(0, 1), .least = 1};
  const std::size_t end = pattern.find(']');
  if (!pattern.starts_with('[') || pattern.contains('|') || end == std::string_view::npos ||
      pattern.substr(0, end).contains('\\'))
    return std::nullopt;
  CountedEnd begin{.before = {}, .chars = pattern.substr(0, end + 1), .least = 1};
  const std::string_view behind = pattern.substr(end + 1);
  if (behind.starts_with('*') || behind.starts_with('?')) return std::nullopt;
  if (behind.starts_with('{')) begin.least = std::stoul(std::string(behind.substr(1)));
  return begin;
}

// Whether a class, as what stands between its brackets, has only a few characters: [0-3], [PH].
bool is_small_class(std::string_view chars) {
  constexpr int kFew = 4;
  if (chars.size() == 3 && chars[1] == '-') return chars[2] - chars[0] < kFew;
  return chars.size() <= kFew && !chars.contains('-') && !chars.contains('^');
}

// How many characters an expression asks for by their names, not by a class of many or one of
// several.
std::size_t literal_letters(std::string_view pattern) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    constexpr std::string_view kOpen = "[({", kClose = "])}";
    if (const std::size_t kind = kOpen.find(pattern[i]); kind != std::string_view::npos) {
      const std::size_t end = pattern.find(kClose[kind], i);
      if (pattern[i] == '[' && is_small_class(pattern.substr(i + 1, end - i - 1))) ++count;
      i = end;
    } else {
      if (pattern[i] == '\\') ++i;
      ++count;
    }
  }
  return count;
}

// The scanner is slow where runs of a class begin again and again, each to be counted. What stands
// before the run is looked for instead, if it is rare enough.
std::optional<CountedEnd> counted_anchor(const RedactionRule& rule) {
  constexpr std::size_t kShortestRun = 8, kRareLetters = 3;
  if (rule.kind != RuleKind::token) return std::nullopt;
  const auto end = counted_end(rule.anchor);
  if (!end || end->least < kShortestRun || end->least != end->most) return std::nullopt;
  return literal_letters(end->before) >= kRareLetters ? end : std::nullopt;
}

ReadyRule ready_rule(const RedactionRule& rule) {
  RE2::Options options(RE2::Quiet);
  options.set_encoding(RE2::Options::EncodingLatin1);
  options.set_longest_match(true);
  options.set_case_sensitive(rule.kind != RuleKind::context &&
                             (rule.checks & check::kCaseless) == 0);
  ReadyRule ready{.rule = &rule, .anchor = rule.anchor};
  const auto count = [&](const CountedEnd& end) {
    ready.counted = {class_of(end.chars, options), end.least, end.most};
  };
  std::string rest(rule.rest);
  if (const auto tail = tail_of(rule.rest)) {
    ready.tail = class_of(tail->chars, options);
    rest = tail->before;
    const bool only_group = !tail->behind.empty() && rest.ends_with('(') && tail->least != "0";
    if (only_group) {
      rest.pop_back();
      ready.group = std::stoul(std::string(tail->least));
    }
    if (tail->least != "0") rest.append(tail->chars).append("{").append(tail->least).append("}");
    if (!only_group) rest.append(tail->behind);
  }
  if (const auto end = counted_anchor(rule)) {
    ready.anchor = end->before;
    count(*end);
  } else if (const auto all = counted_end(rest); all && all->before.empty() && !ready.group) {
    count(*all);
    rest.clear();
  }
  if (!rest.empty()) {
    ready.rest = std::make_unique<RE2>(rest, options);
    std::string least, most;
    // An empty `least` says that the expression matches the empty text.
    if (ready.rest->PossibleMatchRange(&least, &most, 1) && !least.empty() && !most.empty())
      ready.first = {static_cast<unsigned char>(least[0]), static_cast<unsigned char>(most[0])};
  }
  if (const auto begin = counted_begin(rest))
    ready.rest_begin = {class_of(begin->chars, options), begin->least, begin->least};
  return ready;
}

}  // namespace

const std::vector<ReadyRule>& ready_rules() {
  static const std::vector<ReadyRule> kReady = [] {
    std::vector<ReadyRule> ready;
    for (const auto rules :
         {cloud_rules(), code_rules(), service_rules(), credential_rules(), place_rules()})
      for (const RedactionRule& rule : rules)
        ready.push_back(ready_rule(rule));
    return ready;
  }();
  return kReady;
}

std::size_t char_classes() {
  (void)ready_rules();
  return run_of::kFirstOfRules + known_classes().size();
}

}  // namespace sallyport
