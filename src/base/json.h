// The guard in front of every JSON text from outside: what one parser might read differently from
// another is refused, so that the value that was checked is the value that runs.
#pragma once

#include <boost/json.hpp>
#include <compare>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/error.h"

namespace sallyport {

namespace json = boost::json;

struct JsonLimits {
  std::size_t max_depth = 64;  // of arrays and objects within each other
  std::size_t max_bytes = std::size_t{16} << 20;
};

// One JSON text and nothing else. Refused, with line and column: a key that is given twice (however
// it is escaped), nesting past the limit, numbers that a double cannot hold, integers that an int64
// cannot hold, bytes that are not UTF-8, half a surrogate pair, bytes behind the value, a byte
// order mark. Integers become int64, everything with a point or an exponent the nearest double.
[[nodiscard]] Result<json::value> parse_json(std::string_view text, const JsonLimits& limits = {});

// Whether a value could have come from parse_json, as far as nesting and numbers go: values that a
// program builds may have NaN in them, or be deep enough to exhaust the stack.
[[nodiscard]] bool is_plain_json(const json::value& value, std::size_t max_depth);

// The value as text that depends on nothing but the value: keys in the order of their bytes, no
// blanks, a double in the shortest form that reads back as the same double (1.0 keeps its point).
[[nodiscard]] std::string canonical_json(const json::value& value);
void append_canonical_json(std::string& out, const json::value& value);

// Two numbers in the order of their exact values; an integer is never rounded to a double for it.
// Neither may be NaN.
[[nodiscard]] std::strong_ordering compare_numbers(const json::value& a, const json::value& b);

// Equality as JSON Schema means it: 1 is 1.0, the order of keys does not matter, and numbers are
// equal only if they are exactly.
[[nodiscard]] bool json_equal(const json::value& a, const json::value& b);

// A hash that is the same for values that are json_equal.
[[nodiscard]] std::size_t json_hash(const json::value& value);

}  // namespace sallyport
