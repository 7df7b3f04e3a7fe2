// Directories, addresses and numbers that say where something runs and whose it is.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "redact/sight.h"

namespace sallyport {

// Where a thing begins whose anchor ends at `end` of `text`: these have no fixed beginning. Never
// further back than kFurthestBack.
inline constexpr std::size_t kFurthestBack = 72;
[[nodiscard]] std::size_t ip_v4_begin(std::string_view text, std::size_t end);
// `last`: what this has seen of the same text before, so that one run is not gone over many times.
[[nodiscard]] std::size_t ip_v6_begin(std::string_view text, std::size_t end, Found& last);
[[nodiscard]] std::size_t email_begin(std::string_view text, std::size_t end);

// What is found at the anchor, if it is such a thing and not a look-alike.
// Whether an address may go on so behind its sign, as far as the text is known.
[[nodiscard]] bool may_be_domain(std::string_view text);

[[nodiscard]] std::optional<Found> home_dir_at(const Sight& sight);
[[nodiscard]] std::optional<Found> temp_dir_at(const Sight& sight);
[[nodiscard]] std::optional<Found> ip_v4_at(const Sight& sight);
[[nodiscard]] std::optional<Found> ip_v6_at(const Sight& sight);
[[nodiscard]] std::optional<Found> email_at(const Sight& sight);
[[nodiscard]] std::optional<Found> card_at(const Sight& sight);

}  // namespace sallyport
