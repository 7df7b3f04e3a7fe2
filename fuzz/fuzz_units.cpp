// Text of any kind is read or refused with a sentence; what is read, and every value, reads back as
// itself.
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "check.h"
#include "sallyport/units.h"

using namespace sallyport;

template <class T>
static void try_text(Result<T> (*parse)(std::string_view), std::string_view text) {
  const auto value = parse(text);
  if (!value) {
    FUZZ_CHECK(value.error().reason == Reason::argument);
    FUZZ_CHECK(!value.error().message.empty() && !value.error().hint.empty());
    FUZZ_CHECK(value.error().message.size() + value.error().hint.size() < 2000);
    return;
  }
  const std::string shortest = to_text(*value);
  FUZZ_CHECK(parse(shortest).value() == *value);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try_text(parse_size, text);
  try_text(parse_duration, text);
  try_text(parse_rate, text);

  std::uint64_t number = 0;
  std::memcpy(&number, data, size < sizeof number ? size : sizeof number);
  const ByteSize bytes{number & kGreatestSize.bytes};
  FUZZ_CHECK(parse_size(to_text(bytes)).value() == bytes);
  FUZZ_CHECK(parse_rate(to_text(Rate{bytes})).value() == Rate{bytes});
  const Duration time{number % (kGreatestDuration.count() + 1)};
  FUZZ_CHECK(parse_duration(to_text(time)).value() == time);
  return 0;
}
