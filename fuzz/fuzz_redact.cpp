// Any bytes: what is redacted does not depend on how they are cut into pieces, comes out as it is
// when it is redacted again, and is clean after cleaning.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/text.h"
#include "boundary/cut_text.h"
#include "check.h"
#include "redact/clean_text.h"
#include "redact/redact.h"
#include "redact/rule.h"

using namespace sallyport;

static std::shared_ptr<const Redactions> made(RedactionChoice choice) {
  choice.groups = {std::begin(kRedactionGroups), std::end(kRedactionGroups)};
  auto redactions = Redactions::make(choice);
  FUZZ_CHECK(redactions.has_value());
  return *redactions;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto kBuiltIn = made({});
  static const auto kOwn =
      made({.patterns = {"id-[0-9]{2,9}", "^a.{0,20}b$"}, .values = {"known-value-1"}});
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);

  RedactionCounts whole;
  const std::string once = redact_all(kOwn, bytes, whole);
  Redactor redactor(kOwn);
  std::string pieces;
  for (std::string_view rest = bytes; !rest.empty();) {
    const std::size_t count =
        std::min<std::size_t>(rest.size(), 1 + static_cast<std::uint8_t>(rest[0]) % 80);
    redactor.feed(rest.substr(0, count), pieces);
    rest.remove_prefix(count);
  }
  redactor.finish(pieces);
  FUZZ_CHECK(pieces == once);
  FUZZ_CHECK(redactor.counts() == whole);
  FUZZ_CHECK(once.find("known-value-1") == std::string::npos);

  CleanCounts counts;
  const std::string clean = clean_text(bytes, &counts);
  FUZZ_CHECK(clean_text(clean) == clean);
  FUZZ_CHECK(to_utf8(clean) == clean);
  CleanText cleaner;
  std::string clean_pieces;
  for (const char c : bytes)
    cleaner.feed({&c, 1}, clean_pieces);
  cleaner.finish(clean_pieces);
  FUZZ_CHECK(clean_pieces == clean);
  FUZZ_CHECK(cleaner.counts() == counts);

  RedactionCounts ignored;
  const std::string redacted = redact_all(kBuiltIn, clean, ignored);
  const std::size_t limit = size == 0 ? 0 : data[0];
  CutText cut{.head = redacted};
  cut.narrow(limit);
  FUZZ_CHECK(cut.size() <= limit);
  FUZZ_CHECK(cut.size() + cut.left_out == redacted.size() && is_utf8(cut.text()));
  return 0;
}
