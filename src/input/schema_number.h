// Numbers as JSON Schema compares them.
#pragma once

#include "base/json.h"

namespace sallyport {

// An integer is a number without a fraction, however it is written: 1, 1.0, 1e3.
[[nodiscard]] bool is_integer(const json::value& number);

// Whether `number` is a whole multiple of `divisor` (above 0), in decimals as they are written:
// 0.0075 is a multiple of 0.0001, although no two doubles say so. Exact whatever the exponents.
[[nodiscard]] bool is_multiple(const json::value& number, const json::value& divisor);

}  // namespace sallyport
