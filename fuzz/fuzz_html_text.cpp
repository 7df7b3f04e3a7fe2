// Any bytes become text that is no longer than it may be, UTF-8 where they were, without the
// control characters that a page can name.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/text.h"
#include "check.h"
#include "fetch/html_text.h"

using namespace sallyport;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const HtmlText all = html_to_text(bytes, SIZE_MAX);
  FUZZ_CHECK(!all.cut);
  FUZZ_CHECK(!is_utf8(bytes) || is_utf8(all.text));
  FUZZ_CHECK(all.text.size() <= 2 * size + 2);
  const std::size_t most = size == 0 ? 0 : data[0];
  const HtmlText part = html_to_text(bytes, most);
  FUZZ_CHECK(part.text.size() <= most);
  FUZZ_CHECK(part.cut || part.text == all.text);
  FUZZ_CHECK(!is_utf8(bytes) || is_utf8(part.text));
  return 0;
}
