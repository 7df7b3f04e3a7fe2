#include "redact/look.h"

#include <algorithm>

#include "redact/assignment.h"
#include "redact/checks.h"
#include "redact/credentials.h"

namespace sallyport {
namespace {

constexpr CharClass kToken{
    table_of([](char c) { return is_alnum(c) || std::string_view("_-.+/=%~").contains(c); }),
    run_of::kToken};
constexpr CharClass kNoDigit{table_of([](char c) { return !is_digit(c); }), run_of::kNoDigit};
constexpr CharClass kNoLetter{table_of([](char c) { return !is_letter(c); }), run_of::kNoLetter};

// Authorization: required
bool is_plain_word(std::string_view text) {
  return text.size() < 16 &&
         std::ranges::all_of(
             text, [](char c) { return is_letter(c) || std::string_view("_-.()=:").contains(c); });
}

bool passes(const Sight& sight, const Found& found, unsigned checks) {
  if ((checks & (check::kDigit | check::kMixed)) != 0 &&
      sight.run_end(found.begin, kNoDigit) >= found.end)
    return false;
  const std::string_view text = sight.text.substr(found.begin, found.end - found.begin);
  if ((checks & check::kMixed) != 0 &&
      (sight.run_end(found.begin, kNoLetter) >= found.end || !is_mixed(text)))
    return false;
  if ((checks & check::kEntropy) != 0 && !has_entropy(text, 3.5)) return false;
  return true;
}

// Behind the characters that the rule counts, if they are there and its expression may follow.
std::optional<std::size_t> behind_counted(const Sight& sight, std::size_t begin,
                                          const ReadyRule& ready) {
  if (const auto& counted = ready.counted) {
    const std::size_t length = sight.run_end(begin, counted->chars) - begin;
    if (length < counted->least) return std::nullopt;
    begin += std::min(length, counted->most);
  }
  if (const auto& first = ready.rest_begin)
    if (sight.run_end(begin, first->chars) - begin < first->least) return std::nullopt;
  if (const auto next = static_cast<unsigned char>(sight[begin]);
      ready.rest && (next < ready.first.least || next > ready.first.most))
    return std::nullopt;
  return begin;
}

std::optional<Found> token_at(const Sight& sight, const ReadyRule& ready) {
  const RedactionRule& rule = *ready.rule;
  const auto counted = behind_counted(sight, sight.after, ready);
  if (!counted) return std::nullopt;
  Found whole{sight.at, *counted}, found = whole;
  if (ready.rest) {
    re2::StringPiece groups[2];
    const int count = ready.rest->NumberOfCapturingGroups() > 0 ? 2 : 1;
    if (!ready.rest->Match({sight.text.data(), sight.text.size()}, *counted, sight.text.size(),
                           RE2::ANCHOR_START, groups, count))
      return std::nullopt;
    const auto place = [&](const re2::StringPiece& piece) {
      return static_cast<std::size_t>(piece.data() - sight.text.data());
    };
    whole.end = found.end = place(groups[0]) + groups[0].size();
    if (count == 2) found = {place(groups[1]), place(groups[1]) + groups[1].size()};
    if (ready.group) found.begin = found.end - *ready.group;
  }
  if (ready.tail) found.end = sight.run_end(found.end, *ready.tail);
  const bool window_end = found.end == sight.text.size() && sight.open;
  if (!window_end && is_alnum(sight.text[found.end - 1]) && is_alnum(sight[found.end]) &&
      found.end < sight.text.size() + (sight.open ? 1 : 0))
    return std::nullopt;
  const std::string_view text = sight.text.substr(found.begin, found.end - found.begin);
  if (!passes(sight, found, rule.checks)) return std::nullopt;
  if ((rule.checks & check::kKeyInside) != 0 && !decodes_to_private_key(text)) return std::nullopt;
  if (found.begin != whole.begin) {
    if (is_placeholder(text)) return std::nullopt;
    // The rest of it has been redacted already.
    if (sight.marker && found.end == sight.text.size()) return std::nullopt;
  }
  return found;
}

std::optional<Found> context_at(const Sight& sight, const ReadyRule& ready) {
  const unsigned checks = ready.rule->checks;
  if ((checks & check::kWholeWord) != 0 &&
      ((sight.at > 0 && is_word(sight.text[sight.at - 1])) || is_word(sight[sight.after])))
    return std::nullopt;
  const Assigned* const assigned = assigned_value(sight);
  if (!assigned) return std::nullopt;
  const std::size_t begin = assigned->value.begin;
  const auto counted = behind_counted(sight, begin, ready);
  if (!counted) return std::nullopt;
  std::size_t end = *counted;
  if (ready.rest) {
    re2::StringPiece match;
    if (!ready.rest->Match({sight.text.data(), sight.text.size()}, end, sight.text.size(),
                           RE2::ANCHOR_START, &match, 1))
      return std::nullopt;
    end += match.size();
  }
  if (ready.tail) end = sight.run_end(end, *ready.tail);
  if (end < sight.text.size() || sight.open) {
    const char next = sight[end];
    if (is_alnum(next) || next == '_' || next == '+' || next == '/') return std::nullopt;
  }
  const Found found{begin, end};
  const std::string_view text = sight.text.substr(begin, end - begin);
  if (!passes(sight, found, checks) || is_placeholder(text)) return std::nullopt;
  if ((checks & check::kStrong) != 0 && is_plain_word(text)) return std::nullopt;
  return found;
}

std::optional<Found> assignment_at(const Sight& sight, const ReadyRule& ready) {
  if (word_goes_on(sight.text[sight.after - 1], sight[sight.after])) return std::nullopt;
  const Assigned* const assigned = assigned_value(sight);
  if (!assigned) return std::nullopt;
  const Found& value = assigned->value;
  // It would change nothing, unless it goes on behind what is taken out already.
  if (value.end <= sight.taken && (value.end < sight.text.size() || !sight.open))
    return std::nullopt;
  if (!looks_secret(sight, *assigned, ready.rule->checks)) return std::nullopt;
  return value;
}

std::optional<Found> looked_at(const Sight& sight, const ReadyRule& ready) {
  switch (ready.rule->kind) {
    case RuleKind::token:
      return token_at(sight, ready);
    case RuleKind::context:
      return context_at(sight, ready);
    case RuleKind::assignment:
      return assignment_at(sight, ready);
    case RuleKind::url:
      return url_password_at(sight);
    case RuleKind::cookie:
      return cookie_at(sight);
    case RuleKind::key_block:
      return key_block_at(sight);
    case RuleKind::jwt:
      return jwt_at(sight);
    case RuleKind::home_dir:
      return home_dir_at(sight);
    case RuleKind::ip_v4:
      return ip_v4_at(sight);
    case RuleKind::ip_v6:
      return ip_v6_at(sight);
    case RuleKind::temp_dir:
      return temp_dir_at(sight);
    case RuleKind::email:
      return email_at(sight);
    case RuleKind::card:
      return card_at(sight);
  }
  return std::nullopt;
}

}  // namespace

std::optional<Found> rule_at(const Sight& sight, const ReadyRule& ready) {
  auto found = looked_at(sight, ready);
  // Beside a marker a place may be the rest of something longer, which was none.
  if (found && ready.rule->group != RedactionGroup::secrets &&
      (sight.after_marker || (sight.marker && found->end == sight.text.size())))
    found.reset();
  return found;
}

std::optional<Found> more_at(const Sight& sight, const ReadyRule& ready) {
  if (ready.rule->kind == RuleKind::key_block) return more_of_key_block(sight);
  return Found{sight.at, sight.run_end(sight.at, goes_on_with(ready.rule->kind))};
}

const CharClass& goes_on_with(RuleKind kind) {
  return kind == RuleKind::cookie ? kCookieValue : kToken;
}

std::optional<Found> value_at(const Sight& sight, const OwnForm& form) {
  const std::string_view seen = sight.text.substr(sight.at);
  const std::size_t common =
      static_cast<std::size_t>(std::ranges::mismatch(seen, form.text).in1 - seen.begin());
  // What is left of one that was cut off is secret, too; what only begins alike is not.
  if (common < form.text.size() && common < 2 * kLongestMarker && common < seen.size())
    return std::nullopt;
  Found found{sight.at, sight.at + common};
  if (form.base64) {
    const auto carries = [](char c) {
      return is_alnum(c) || c == '+' || c == '/' || c == '-' || c == '_';
    };
    if (found.end < sight.text.size() && carries(sight.text[found.end])) ++found.end;
    if (found.begin > 0 && carries(sight.text[found.begin - 1])) --found.begin;
  }
  return found;
}

}  // namespace sallyport
