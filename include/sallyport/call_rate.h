// How often something may be called: 10/min.
//
//   N/s  N/min  N/h  N/day        N a whole number from 1
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "sallyport/error.h"
#include "sallyport/units.h"

namespace sallyport {

// At most `count` calls begin within any span of time as long as `window`.
struct CallRate {
  std::uint32_t count = 0;
  Duration window{};
  friend auto operator<=>(const CallRate&, const CallRate&) = default;
};

// An error says what is wrong with `text` and, in its hint, what to write instead.
[[nodiscard]] Result<CallRate> parse_call_rate(std::string_view text);

// "10/min"; reads back as the same value.
[[nodiscard]] std::string to_text(CallRate rate);

}  // namespace sallyport
