// What checking asks of a value, and how it names what it finds there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"
#include "input/schema_program.h"

namespace sallyport {

// The types that a value has: 1 and 1.0 are both an integer and a number.
[[nodiscard]] TypeSet types_of(const json::value& value);

// "null or a string"
[[nodiscard]] std::string names_of(TypeSet types);

// "an integer"
[[nodiscard]] std::string name_of(const json::value& value);

// The characters (code points) of a text in UTF-8.
[[nodiscard]] std::size_t count_code_points(std::string_view text);

// What comparing with a value, or hashing it, counts for in steps.
[[nodiscard]] std::uint64_t weight_of(const json::value& value);

// Where in the value we are; a chain on the stack, so that no text is built on the way.
struct ValuePlace {
  const ValuePlace* above = nullptr;
  std::string_view key;
  std::size_t index = 0;
  bool is_item = false;
};

// The JSON pointer of a place. A key may be as long as the text that it came in, and a violation is
// for reading: long ones are cut.
[[nodiscard]] std::string pointer_of(const ValuePlace& place);

}  // namespace sallyport
