// What a redaction rule is. The rules themselves stand in tables (rules_*.cpp), from which the
// scanner, the documentation and the tests are made.
//
// A rule has an anchor, which Hyperscan looks for in all of the text at once, and what must stand
// behind it, which is looked at only where an anchor was found. An anchor has a fixed length, so
// that its end, which is all that a streaming scan tells, says where it begins.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace sallyport {

enum class RedactionGroup : std::uint8_t {
  secrets,
  home_dirs,
  ip_addresses,
  temp_dirs,
  emails,
  cards,
};
inline constexpr std::string_view kRedactionGroups[] = {"secrets",   "home_dirs", "ip_addresses",
                                                        "temp_dirs", "emails",    "cards"};

// How the text behind an anchor is looked at.
enum class RuleKind : std::uint8_t {
  token,       // `anchor`, then `rest` (RE2); what is redacted is all of it, or its group 1
  context,     // `anchor` is words, one of them names a value, and the value is `rest` (RE2)
  assignment,  // as context, but any value that looks like a secret
  url,         // the password of a URL
  cookie,      // the values of a Cookie or Set-Cookie header
  key_block,   // a private key in lines, from its first to its last
  jwt,         // a JSON Web Token
  home_dir,
  ip_v4,
  ip_v6,
  temp_dir,
  email,
  card,
};

// What the candidate has to pass besides, as a set of bits.
namespace check {
inline constexpr unsigned kNone = 0;
inline constexpr unsigned kAnywhere = 1u << 0;  // may begin in the middle of a word
inline constexpr unsigned kDigit = 1u << 1;     // has a digit
inline constexpr unsigned kMixed = 1u << 2;     // has a digit and a letter, and many different ones
inline constexpr unsigned kEntropy = 1u << 3;   // is as irregular as random text is
inline constexpr unsigned kKeyInside = 1u << 4;  // decodes to the first line of a private key
inline constexpr unsigned kWholeWord = 1u << 5;  // a context word that is not part of a longer one
inline constexpr unsigned kCaseless = 1u << 6;   // of the anchor of a token
inline constexpr unsigned kPassword = 1u << 7;   // of an assignment: even a plain word is a secret
inline constexpr unsigned kStrong =
    1u << 8;  // only what looks random; of a token, what is not a plain word
}  // namespace check

struct RedactionRule {
  std::string_view id;  // within the marker; rows of one id are one rule
  RuleKind kind = RuleKind::token;
  std::string_view anchor;  // a regular expression of fixed length; words with '|'
  std::string_view rest;
  unsigned checks = check::kNone;
  std::string_view what;  // for people
  RedactionGroup group = RedactionGroup::secrets;
  std::string_view command = {};  // of an option: a word before it on its line
};

// The built-in rules, in the order of precedence where two are found at one place.
[[nodiscard]] std::span<const RedactionRule> cloud_rules();
[[nodiscard]] std::span<const RedactionRule> code_rules();
[[nodiscard]] std::span<const RedactionRule> service_rules();
[[nodiscard]] std::span<const RedactionRule> credential_rules();
[[nodiscard]] std::span<const RedactionRule> place_rules();

}  // namespace sallyport
