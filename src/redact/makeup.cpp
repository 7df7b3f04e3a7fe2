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

// Of a character: its kinds, and of which sequences it is the first, second or third character.
struct Signs {
  std::uint16_t kinds = 0, first = 0, second = 0, third = 0;
};

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
    Signs& signs = table[static_cast<std::size_t>(i)];
    signs.kinds = static_cast<std::uint16_t>(kinds_of(c));
    for (std::size_t bit = 0; bit < kSequences.count; ++bit) {
      const std::string_view sequence = kSequences.all[bit];
      const auto is = [&](std::size_t at) {
        return static_cast<std::uint16_t>(
            at < sequence.size() && sequence[at] == to_lower(c) ? 1u << bit : 0u);
      };
      signs.first |= is(0);
      signs.second |= is(1);
      signs.third |= is(2);
    }
  }
  return table;
}();

}  // namespace

Makeup makeup_of(std::string_view text) {
  Makeup made;
  unsigned pairs = 0;   // that have been seen
  unsigned first = 0;   // of which sequences the last character is the first
  unsigned second = 0;  // of which sequences the last two characters are the beginning
  for (std::size_t i = 0; i < text.size(); ++i) {
    const Signs& signs = kSigns[static_cast<unsigned char>(text[i])];
    made.kinds |= signs.kinds;
    if ((second & signs.third) != 0 && !made.placeholder_word) {
      const std::string_view rest = text.substr(i + 1 - kBeginning);
      made.placeholder_word = std::ranges::any_of(
          kPlaceholders, [&](std::string_view word) { return begins_caseless(rest, word); });
    }
    second = first & signs.second;
    pairs |= second;
    first = signs.first;
  }
  made.joint = (pairs & kJointBits) != 0;
  return made;
}

}  // namespace sallyport
