// What becomes possible, and what impossible, when one policy takes the place of another. A change
// of the file that changes nothing for any caller is not a difference.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "policy/envelope.h"

namespace sallyport {

// A change that cannot be ordered may make something possible, so it counts as much as a wider one.
enum class Direction { wider, narrower, changed };
[[nodiscard]] std::string_view name_of(Direction direction);

struct PolicyChange {
  Direction direction = Direction::changed;
  std::string tool;                 // empty: of no tool in particular
  std::vector<std::string> who;     // callers; empty: everybody who may call the tool
  std::string what;                 // "timeout 30s → 60s", "may now call it"
  std::vector<std::string> roles;   // roles of which `who` has every caller
  std::vector<std::string> others;  // the callers of `who` beside those
};

// By tool, and within one in the order: who may call it, what it can do, what it can spend.
[[nodiscard]] std::vector<PolicyChange> diff(const Rules& before, const Rules& after);

// Whether something may have become possible that was not.
[[nodiscard]] bool may_allow_more(const std::vector<PolicyChange>& changes);

// "+ python: role editor (3 callers): timeout 30s → 60s (wider)"
[[nodiscard]] std::string to_text(const PolicyChange& change);
[[nodiscard]] json::object to_json(const PolicyChange& change);

}  // namespace sallyport
