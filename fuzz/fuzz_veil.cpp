// A value that is covered whole is covered in pieces too, by the veil and by its fingerprints,
// which do not know it: not a byte more or less comes out, and no form of it.
#include <algorithm>
#include <cstdint>
#include <string>

#include "check.h"
#include "egress/fingerprints.h"
#include "egress/veil.h"

using namespace sallyport;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::size_t value_size = data[0] % 64, piece = data[1] % 32 + 1;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  const std::vector<std::string> values = {std::string(bytes.substr(0, value_size)),
                                           "ghp_abcabcab"};
  const std::string_view text = bytes.substr(std::min(value_size, bytes.size()));

  const Veil veil(values);
  Veil::Stream stream(veil);
  std::string shown;
  for (std::size_t at = 0; at < text.size(); at += piece)
    stream.feed(text.substr(at, piece), shown);
  stream.finish(shown);
  FUZZ_CHECK(shown.size() == text.size());
  std::string whole(text);
  veil.cover(whole);
  // Of what is covered whole, in pieces at most the few bytes are seen that are not held back.
  for (std::size_t i = 0; i < text.size(); ++i)
    FUZZ_CHECK(shown[i] == whole[i] || shown[i] == '*' || shown[i] == text[i]);
  const bool has_stars = values[0].contains('*');
  for (const std::string& value : values)
    FUZZ_CHECK(value.size() < 6 || has_stars || !whole.contains(value));

  const auto fingerprints = fingerprints_of(values);
  FUZZ_CHECK(fingerprints);
  FingerprintCover cover(*fingerprints);
  std::string hidden;
  for (std::size_t at = 0; at < text.size(); at += piece)
    cover.feed(text.substr(at, piece), hidden);
  cover.finish(hidden);
  FUZZ_CHECK(hidden.size() == text.size());
  FUZZ_CHECK(veil.finds(text) || cover.found() == 0);
  for (const std::string& value : values)
    FUZZ_CHECK(value.size() < 6 || has_stars || !hidden.contains(value));
  return 0;
}
