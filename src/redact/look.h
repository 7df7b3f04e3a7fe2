// Looks at the text around an anchor: is it what the rule is about, and from where to where?
#pragma once

#include <optional>

#include "redact/places.h"
#include "redact/rule_set.h"
#include "redact/sight.h"

namespace sallyport {

// authorization, tokenizer, keyboard
[[nodiscard]] constexpr bool word_goes_on(char last, char next) {
  return ((is_lower(last) && is_lower(next)) || (is_upper(last) && is_upper(next))) &&
         to_lower(next) != 's';
}

[[nodiscard]] constexpr bool is_word(char c) {
  return is_alnum(c) || c == '_';
}

// Whether rule_at() may find something at an anchor that ends at `end`, as far as the text is
// known.
[[nodiscard]] inline bool may_go_on(const Expression& expression, std::string_view text,
                                    std::size_t end) {
  if (end >= text.size() || end == 0) return true;
  if (expression.follow != nullptr && !(*expression.follow)[static_cast<unsigned char>(text[end])])
    return false;
  if (expression.kind == RuleKind::assignment) return !word_goes_on(text[end - 1], text[end]);
  if (expression.whole_word && is_word(text[end])) return false;
  return expression.kind != RuleKind::email || may_be_domain(text.substr(end));
}

[[nodiscard]] std::optional<Found> rule_at(const Sight& sight, const ReadyRule& ready);

// What of a find that reached the end of its window goes on at `sight.at`.
[[nodiscard]] std::optional<Found> more_at(const Sight& sight, const ReadyRule& ready);

// What such a find goes on with; a key in lines has its own way.
[[nodiscard]] const CharClass& goes_on_with(RuleKind kind);

// A known value whose beginning is the anchor; if the text ends within it, that part.
[[nodiscard]] std::optional<Found> value_at(const Sight& sight, const OwnForm& form);

}  // namespace sallyport
