// Any bytes become UTF-8, printable text, a shell word and a captured stream that keep their
// promises.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/text.h"
#include "cell/output.h"
#include "check.h"

using namespace sallyport;

// One character after the other, as a check on the fast way.
static bool is_valid(std::string_view text) {
  for (; !text.empty(); text.remove_prefix(first_utf8_char(text).length))
    if (!first_utf8_char(text).valid) return false;
  return true;
}

// Undoes shell_quote as a shell would.
static std::string unquoted(std::string_view text) {
  std::string word;
  bool within = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\'')
      within = !within;
    else if (text[i] == '\\' && !within)
      word.push_back(text[++i]);
    else
      word.push_back(text[i]);
  }
  FUZZ_CHECK(!within);
  return word;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);

  FUZZ_CHECK(is_utf8(bytes) == is_valid(bytes));
  const std::string utf8 = to_utf8(bytes);
  FUZZ_CHECK(is_valid(utf8));
  FUZZ_CHECK(to_utf8(utf8) == utf8);
  FUZZ_CHECK(!is_valid(bytes) || utf8 == bytes);

  const std::string visible = escape_for_terminal(bytes);
  FUZZ_CHECK(is_valid(visible));
  FUZZ_CHECK(escape_for_terminal(visible) == visible);
  FUZZ_CHECK(std::ranges::none_of(
      visible, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }));
  FUZZ_CHECK(sallyport::quoted(bytes).size() < 1000);

  FUZZ_CHECK(unquoted(shell_quote(bytes)) == bytes);

  constexpr std::string_view kWords[] = {"timeout", "memory", "cpu", "io"};
  (void)nearest(bytes, kWords);
  (void)irregular_component(bytes);

  const std::size_t limit = size == 0 ? 0 : data[0];
  CapturedStream stream{ByteSize{limit}};
  for (std::string_view rest = bytes; !rest.empty();) {
    const std::size_t count =
        std::min<std::size_t>(rest.size(), 1 + static_cast<std::uint8_t>(rest[0]));
    stream.append(rest.substr(0, count));
    rest.remove_prefix(count);
  }
  FUZZ_CHECK(stream.total() == size);
  FUZZ_CHECK(stream.text().size() <= limit + 64);
  FUZZ_CHECK(size > limit || stream.text() == bytes);
  FUZZ_CHECK(!is_valid(bytes) || is_valid(stream.text()));
  return 0;
}
