// Any text in any of the languages is screened or refused; what is found has a place in the text,
// and can be shown.
#include <cstdint>
#include <string_view>

#include "base/text.h"
#include "check.h"
#include "screen/screen.h"

using namespace sallyport;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto language = static_cast<Language>(data[0] % 3);
  const std::string_view code(reinterpret_cast<const char*>(data) + 1, size - 1);
  (void)language_of("x", code);
  const auto screening = screen(code, language);
  if (!screening) {
    FUZZ_CHECK(screening.error().reason == Reason::screen && !screening.error().hint.empty());
    return 0;
  }
  unsigned lines = 1;
  for (const char c : code)
    lines += c == '\n' ? 1 : 0;
  FUZZ_CHECK(screening->findings.size() <= kMostScreenFindings);
  unsigned last = 0;
  for (const ScreenFinding& finding : screening->findings) {
    FUZZ_CHECK(finding.line >= last && finding.line <= lines && finding.column >= 1);
    last = finding.line;
    FUZZ_CHECK(!finding.category.empty() && !finding.why.empty() && !finding.allowed.empty());
    FUZZ_CHECK(escape_for_terminal(finding.excerpt) == finding.excerpt);
    FUZZ_CHECK(escape_for_terminal(finding.why) == finding.why);
  }
  if (const auto& error = screening->syntax_error) {
    FUZZ_CHECK(error->line >= 1 && error->line <= lines && !error->message.empty());
  }
  return 0;
}
