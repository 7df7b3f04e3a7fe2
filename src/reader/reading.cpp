#include "reader/reading.h"

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "credential/source.h"

namespace sallyport {
namespace {

constexpr std::size_t kMostWords = 200;

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
}

}  // namespace

void wipe(std::string& value) {
  ::explicit_bzero(value.data(), value.size());
  value.clear();
}

Reading no_secret(std::string why, bool gone) {
  return {.value = {}, .why = std::move(why), .gone = gone};
}

Reading check_secret(std::string text, std::string_view whose) {
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  const auto refuse = [&](std::string_view why) {
    wipe(text);
    return no_secret(std::string(whose).append(" ").append(why), true);
  };
  if (text.empty()) return refuse("is empty");
  if (text.size() > kLargestSecret)
    return refuse("has more than " + to_text(ByteSize{kLargestSecret}));
  if (std::ranges::any_of(text, is_control))
    return refuse("has line breaks or other control characters in it");
  return {.value = std::move(text), .why = {}};
}

std::string plain_words(std::string_view text) {
  std::string words;
  for (const char c : text.substr(0, 4 * kMostWords)) {
    if (!is_control(c) && c != ' ')
      words.push_back(c);
    else if (!words.empty() && words.back() != ' ')
      words.push_back(' ');
  }
  while (words.ends_with(' '))
    words.pop_back();
  const bool longer = words.size() > kMostWords;
  if (longer) words.resize(kMostWords);
  words = to_utf8(words);
  return longer ? words + "…" : words;
}

}  // namespace sallyport
