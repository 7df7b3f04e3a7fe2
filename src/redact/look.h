// Looks at the text around an anchor: is it what the rule is about, and from where to where?
#pragma once

#include <optional>

#include "redact/rule_set.h"
#include "redact/sight.h"

namespace sallyport {

[[nodiscard]] std::optional<Found> rule_at(const Sight& sight, const ReadyRule& ready);

// What of a find that reached the end of its window goes on at `sight.at`.
[[nodiscard]] std::optional<Found> more_at(const Sight& sight, const ReadyRule& ready);

// Whether all of the text is what such a find may go on with.
[[nodiscard]] bool all_goes_on(std::string_view text, const ReadyRule& ready);

// A known value whose beginning is the anchor; if the text ends within it, that part.
[[nodiscard]] std::optional<Found> value_at(const Sight& sight, const OwnForm& form);

}  // namespace sallyport
