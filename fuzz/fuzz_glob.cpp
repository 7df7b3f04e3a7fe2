// Any glob is read or refused, and matches any path in bounded time. A path whose special
// characters are escaped matches itself.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/glob.h"
#include "check.h"

using namespace sallyport;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t line = text.find('\n');
  const std::string_view path = line == std::string_view::npos ? text : text.substr(line + 1);

  if (const auto glob = Glob::parse(text.substr(0, line)))
    (void)glob->matches(path);
  else
    FUZZ_CHECK(!glob.error().message.empty() && !glob.error().hint.empty());

  std::string literal;
  for (const char c : path) {
    if (std::string_view("*?[\\").contains(c)) literal.push_back('\\');
    literal.push_back(c);
  }
  if (const auto glob = Glob::parse(literal)) {
    FUZZ_CHECK(glob->matches(path));
    FUZZ_CHECK(!glob->matches(std::string(path) + "x"));
  }
  return 0;
}
