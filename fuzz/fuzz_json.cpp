// Any text is read or refused by the guard. What is read has no key twice, is not too deep, and
// reads back from its canonical form as the same value; what is refused says where.
#include <cmath>
#include <cstdint>
#include <string_view>

#include "base/json.h"
#include "check.h"

using namespace sallyport;

namespace {

// Nothing in an accepted value is beyond what the guard promises.
void check_value(const json::value& value, int depth) {
  FUZZ_CHECK(!value.is_uint64());
  if (value.is_double()) FUZZ_CHECK(std::isfinite(value.get_double()));
  if (value.is_structured()) FUZZ_CHECK(depth < 64);
  if (const json::array* array = value.if_array())
    for (const json::value& item : *array)
      check_value(item, depth + 1);
  if (const json::object* object = value.if_object())
    for (const json::key_value_pair& member : *object)
      check_value(member.value(), depth + 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto value = parse_json(text);
  if (!value) {
    FUZZ_CHECK(value.error().reason == Reason::argument);
    FUZZ_CHECK(value.error().message.contains("line "));
    FUZZ_CHECK(!value.error().hint.empty());
    return 0;
  }
  check_value(*value, 0);
  FUZZ_CHECK(is_plain_json(*value, 64));
  json::error_code code;
  json::parse_options options;
  options.max_depth = 64;
  (void)json::parse({text.data(), text.size()}, code, {}, options);
  FUZZ_CHECK(!code);  // the guard never takes more than Boost does

  const std::string canonical = canonical_json(*value);
  const auto again = parse_json(canonical);
  FUZZ_CHECK(again && json_equal(*value, *again));
  FUZZ_CHECK(json_hash(*value) == json_hash(*again));
  FUZZ_CHECK(canonical_json(*again) == canonical);
  return 0;
}
