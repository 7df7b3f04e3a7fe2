// Looks at the text around an anchor: is it what the rule is about, and from where to where?
#pragma once

#include <optional>

#include "redact/rule_set.h"
#include "redact/sight.h"

namespace sallyport {

// Whether rule_at() may find something at an anchor that ends at `end`, as far as the text is
// known.
[[nodiscard]] bool may_go_on(const ReadyRule& ready, std::string_view text, std::size_t end);

[[nodiscard]] std::optional<Found> rule_at(const Sight& sight, const ReadyRule& ready);

// What of a find that reached the end of its window goes on at `sight.at`.
[[nodiscard]] std::optional<Found> more_at(const Sight& sight, const ReadyRule& ready);

// What such a find goes on with; a key in lines has its own way.
[[nodiscard]] const CharClass& goes_on_with(RuleKind kind);

// A known value whose beginning is the anchor; if the text ends within it, that part.
[[nodiscard]] std::optional<Found> value_at(const Sight& sight, const OwnForm& form);

}  // namespace sallyport
