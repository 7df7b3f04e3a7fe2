// What a text is made of, found in one pass over it: hostile text asks this of many values.
#pragma once

#include <cstdint>
#include <string_view>

namespace sallyport {

// Kinds of characters, as a set of bits.
namespace made_of {
inline constexpr unsigned kDigit = 1u << 0, kLower = 1u << 1, kUpper = 1u << 2, kBlank = 1u << 3,
                          kDot = 1u << 4, kHyphen = 1u << 5, kUnderscore = 1u << 6,
                          kColon = 1u << 7,
                          kBracket = 1u << 8,  // ( or [
    kOther = 1u << 9,                          // none of letters, digits, _, - and .
    kNotHex = 1u << 10,                        // nor a hyphen
    kNotBase64 = 1u << 11,                     // of either alphabet
    kNotDate = 1u << 12;                       // what dates and versions have none of
inline constexpr unsigned kAll = (kNotDate << 1) - 1;
}  // namespace made_of

struct Makeup {
  unsigned kinds = 0;        // of all characters
  bool may_be_word = false;  // has the first letters of a word like `changeme`, in some order

  [[nodiscard]] bool has(unsigned any_of) const { return (kinds & any_of) != 0; }
};

[[nodiscard]] Makeup makeup_of(std::string_view text);

// Whether the text, which is made so, has :: or ->.
[[nodiscard]] bool has_joint(std::string_view text, const Makeup& makeup);

// Whether a word like `changeme` stands in the text, which is made so.
[[nodiscard]] bool has_placeholder(std::string_view text, const Makeup& makeup);

}  // namespace sallyport
