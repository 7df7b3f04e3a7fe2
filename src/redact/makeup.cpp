#include "redact/makeup.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>

#include "redact/sight.h"

namespace sallyport {
namespace {

// Words that stand where a value is still to be filled in.
constexpr std::string_view kPlaceholders[] = {
    "your-",    "your_",     "yourapi",   "yourtoken", "my-api-key", "insert", "placeholder",
    "changeme", "change-me", "change_me", "redacted",  "example",    "dummy"};

// The beginnings of those words: each has a bit.
constexpr std::size_t kBeginning = 4, kMostBeginnings = 16;
struct Sequences {
  std::array<std::string_view, kMostBeginnings> all{};
  std::size_t count = 0;
};
constexpr Sequences kSequences = [] {
  Sequences made;
  for (const std::string_view word : kPlaceholders) {
    const std::string_view beginning = word.substr(0, kBeginning);
    if (std::ranges::find(made.all, beginning) == made.all.end())
      made.all[made.count++] = beginning;
  }
  return made;
}();

// Of a character: of which sequences it is the first, second, third or fourth character, each in a
// lane of its own, and above them its kinds. In one word, so that it takes few instructions.
using Signs = std::uint64_t;
constexpr std::size_t kLane = kSequences.count, kKinds = kBeginning * kLane;
constexpr Signs lane(std::size_t number) {
  return ((Signs{1} << kLane) - 1) << (number * kLane);
}
static_assert(kKinds + std::bit_width(made_of::kAll) <= 64);

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
    Signs signs = Signs{kinds_of(c)} << kKinds;
    for (std::size_t bit = 0; bit < kSequences.count; ++bit)
      for (std::size_t at = 0; at < kSequences.all[bit].size(); ++at)
        if (kSequences.all[bit][at] == to_lower(c)) signs |= Signs{1} << (kLane * at + bit);
    table[static_cast<std::size_t>(i)] = signs;
  }
  return table;
}();

Signs signs_of(char c) {
  return kSigns[static_cast<unsigned char>(c)];
}

// Without a branch in the loop, so that it takes many characters at once.
bool has_pair(std::string_view text, char first, char second) {
  bool found = false;
  for (std::size_t i = 1; i < text.size(); ++i)
    found |= text[i - 1] == first && text[i] == second;
  return found;
}

}  // namespace

Makeup makeup_of(std::string_view text) {
  Signs any = 0;
  for (const char c : text)
    any |= signs_of(c);
  const Signs two = any & any >> kLane;
  return {.kinds = static_cast<unsigned>(any >> kKinds),
          .may_be_word = (two & two >> 2 * kLane & lane(0)) != 0};
}

bool has_joint(std::string_view text, const Makeup& makeup) {
  return (makeup.has(made_of::kColon) && has_pair(text, ':', ':')) ||
         (makeup.has(made_of::kHyphen) && has_pair(text, '-', '>'));
}

bool has_placeholder(std::string_view text, const Makeup& makeup) {
  if (!makeup.may_be_word) return false;
  // Which words four characters in a row begin: in the first lane stands what is left of the first,
  // and of the others what was shifted there. Nothing waits for the character before it.
  static_assert(kBeginning == 4);
  Signs all = 0, before = 0, pair_before = 0, pair = 0;
  for (const char c : text) {
    const Signs now = signs_of(c);
    const Signs both = before & now >> kLane;
    all |= pair_before & both >> 2 * kLane;
    pair_before = pair;
    pair = both;
    before = now;
  }
  if ((all & lane(0)) == 0) return false;
  for (std::size_t i = 0; i + kBeginning <= text.size(); ++i) {
    const std::string_view rest = text.substr(i);
    if (std::ranges::any_of(kPlaceholders,
                            [&](std::string_view word) { return begins_caseless(rest, word); }))
      return true;
  }
  return false;
}

}  // namespace sallyport
