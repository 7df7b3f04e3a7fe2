#include "redact/makeup.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "redact/sight.h"

namespace sallyport {
namespace {

// Words that stand where a value is still to be filled in.
constexpr std::string_view kPlaceholders[] = {
    "your-",    "your_",     "yourapi",   "yourtoken", "my-api-key", "insert", "placeholder",
    "changeme", "change-me", "change_me", "redacted",  "example",    "dummy"};
constexpr std::string_view kJoints[] = {"::", "->"};

// The beginnings of those words, and the joints: each has a bit.
constexpr std::size_t kBeginning = 3, kMostBeginnings = 16;
struct Sequences {
  std::array<std::string_view, kMostBeginnings> all{};
  std::size_t count = 0;
};
constexpr Sequences kSequences = [] {
  Sequences made;
  for (const std::string_view joint : kJoints)
    made.all[made.count++] = joint;
  for (const std::string_view word : kPlaceholders) {
    const std::string_view beginning = word.substr(0, kBeginning);
    if (std::ranges::find(made.all, beginning) == made.all.end())
      made.all[made.count++] = beginning;
  }
  return made;
}();
constexpr unsigned kJointBits = (1u << std::size(kJoints)) - 1;

// Of a character: its kinds, and of which sequences it is the first, second or third character; in
// lanes of one word, so that the whole is a few instructions for each character.
using Signs = std::uint64_t;
constexpr unsigned kLane = 16, kKinds = 0, kFirst = kLane, kSecond = 2 * kLane, kThird = 3 * kLane;

constexpr unsigned kinds_of(char c) {
  using namespace made_of;
  const bool word = is_alnum(c) || c == '_' || c == '-';
  unsigned kinds = 0;
  const auto set = [&](bool is, unsigned kind) { kinds |= is ? kind : 0u; };
  set(is_digit(c), kDigit);
  set(is_lower(c), kLower);
  set(is_upper(c), kUpper);
  set(is_blank(c), kBlank);
  set(c == '.', kDot);
  set(c == '-', kHyphen);
  set(c == '_', kUnderscore);
  set(c == ':', kColon);
  set(c == '(' || c == '[', kBracket);
  set(!word && c != '.', kOther);
  set(!is_hex(c) && c != '-', kNotHex);
  set(!word && c != '+' && c != '/' && c != '=', kNotBase64);
  set(!is_digit(c) && !std::string_view(".-:TZ+").contains(c), kNotDate);
  return kinds;
}

constexpr auto kSigns = [] {
  std::array<Signs, 256> table{};
  for (int i = 0; i < 256; ++i) {
    const char c = static_cast<char>(i);
    Signs signs = kinds_of(c);
    for (std::size_t bit = 0; bit < kSequences.count; ++bit)
      for (std::size_t at = 0; at < kSequences.all[bit].size(); ++at)
        if (kSequences.all[bit][at] == to_lower(c)) signs |= Signs{1} << (kLane * (at + 1) + bit);
    table[static_cast<std::size_t>(i)] = signs;
  }
  return table;
}();

Signs signs_of(char c) {
  return kSigns[static_cast<unsigned char>(c)];
}

constexpr Signs lane(unsigned shift) {
  return Signs{0xFFFF} << shift;
}

// Whether one of the words stands in the text, which has the beginning of one.
bool has_placeholder(std::string_view text) {
  for (std::size_t i = 0; i + kBeginning <= text.size(); ++i) {
    const Signs found = signs_of(text[i]) << (kThird - kFirst) &
                        signs_of(text[i + 1]) << (kThird - kSecond) & signs_of(text[i + 2]);
    if ((found & lane(kThird)) == 0) continue;
    const std::string_view rest = text.substr(i);
    if (std::ranges::any_of(kPlaceholders,
                            [&](std::string_view word) { return begins_caseless(rest, word); }))
      return true;
  }
  return false;
}

}  // namespace

Makeup makeup_of(std::string_view text) {
  // Of the last characters: the kinds, and of which sequences they are the first one, two or three.
  // Shifted by a lane, what has begun meets what would go on with it.
  Signs last = 0, all = 0;
  for (const char c : text) {
    last = (last << kLane | lane(kKinds) | lane(kFirst)) & signs_of(c);
    all |= last;
  }
  return {.kinds = static_cast<unsigned>(all & lane(kKinds)),
          .joint = (all >> kSecond & kJointBits) != 0,
          .placeholder_word = (all & lane(kThird)) != 0 && has_placeholder(text)};
}

}  // namespace sallyport
