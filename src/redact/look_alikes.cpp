// What stands behind a name of a secret and is none.
#include <algorithm>
#include <array>
#include <string>

#include "redact/assignment.h"
#include "redact/checks.h"
#include "redact/makeup.h"
#include "redact/rule.h"

namespace sallyport {
namespace {

using namespace made_of;

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), to_lower);
  return result;
}

// A list in order, to be searched by halves.
template <std::size_t N>
consteval std::array<std::string_view, N> sorted(const std::string_view (&list)[N]) {
  std::array<std::string_view, N> words = std::to_array(list);
  std::ranges::sort(words);
  return words;
}

template <std::size_t N>
bool one_of(std::string_view word, const std::array<std::string_view, N>& list) {
  return std::ranges::binary_search(list, word);
}

bool equals_caseless(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, to_lower, to_lower);
}

// Words of programs and of prose.
constexpr auto kPlainWords = sorted({
    "none",         "null",      "nil",       "true",      "false",       "undefined",
    "empty",        "string",    "str",       "bytes",     "char",        "varchar",
    "text",         "integer",   "number",    "bool",      "boolean",     "object",
    "array",        "any",       "void",      "required",  "optional",    "missing",
    "invalid",      "incorrect", "expired",   "hidden",    "masked",      "redacted",
    "changed",      "reset",     "unset",     "valid",     "wrong",       "default",
    "disabled",     "enabled",   "secret",    "password",  "token",       "unknown",
    "provided",     "accepted",  "rejected",  "updated",   "verified",    "prompt",
    "generated",    "input",     "field",     "value",     "encrypted",   "protected",
    "refused",      "denied",    "failed",    "ok",        "yes",         "no",
    "not",          "must",      "should",    "bearer",    "basic",       "digest",
    "access",       "refresh",   "self",      "this",      "unchanged",   "stored",
    "sent",         "correct",   "needed",    "removed",   "revoked",     "authentication",
    "unauthorized", "forbidden", "mandatory", "available", "unavailable", "securestring",
    "secretstr",    "const",     "static",    "public",    "private",     "return",
    "await",
});

// Names whose last word says that the value is about the secret, not the secret.
constexpr auto kAbout = sorted({
    "id",         "ids",       "name",   "names",    "type",     "types",   "url",
    "uri",        "path",      "file",   "filename", "dir",      "length",  "len",
    "count",      "counts",    "size",   "limit",    "expiry",   "expires", "in",
    "expiration", "ttl",       "age",    "policy",   "field",    "column",  "label",
    "regex",      "pattern",   "format", "required", "min",      "max",     "strength",
    "hint",       "prompt",    "input",  "reset",    "changed",  "updated", "created",
    "at",         "date",      "time",   "manager",  "provider", "store",   "ref",
    "version",    "algorithm", "alg",    "status",   "state",    "valid",   "enabled",
    "endpoint",   "class",     "usage",  "index",    "kind",     "prefix",  "env",
    "scope",      "scopes",    "issuer", "audience", "budget",   "rate",    "s",
    "used",       "available", "error",  "message",  "rotation", "backend", "namespace",
    "izer",       "location",  "host",
});

std::string_view last_word(std::string_view name) {
  std::size_t begin = name.size();
  while (begin > 0 && is_alnum(name[begin - 1])) {
    --begin;
    // A hump of camelCase begins a word.
    if (is_upper(name[begin]) && (begin == 0 || !is_upper(name[begin - 1]))) break;
  }
  return name.substr(begin);
}

bool speaks_about(const Assigned& assigned) {
  if (!assigned.behind.empty()) {
    // The word goes on: tokenizer, secretary, passwordless.
    const char next = assigned.behind[0];
    const std::size_t head = assigned.name.size() - assigned.behind.size();
    const char last = head > 0 ? assigned.name[head - 1] : '\0';
    if ((is_lower(last) && is_lower(next)) || (is_upper(last) && is_upper(next))) {
      const bool plural = to_lower(next) == 's' &&
                          !is_letter(assigned.behind.size() > 1 ? assigned.behind[1] : ' ');
      if (!plural || contains_caseless(assigned.name, "token")) return true;
    }
    if (one_of(lower(last_word(assigned.behind)), kAbout)) return true;
  }
  static constexpr std::string_view kPages[] = {"next", "page", "continuation", "max_tok",
                                                "cancellation"};
  static constexpr CharTable kFirst = table_of([](char c) {
    return std::ranges::any_of(kPages,
                               [&](std::string_view page) { return page[0] == to_lower(c); });
  });
  if (assigned.name.empty() || !kFirst[static_cast<unsigned char>(assigned.name[0])]) return false;
  return std::ranges::any_of(
      kPages, [&](std::string_view page) { return begins_caseless(assigned.name, page); });
}

// An expression of a program, not a value: os.environ, get_token(), config.password, User::token.
bool is_expression(std::string_view value, const Makeup& makeup) {
  if (makeup.has(kBracket) || has_joint(value, makeup)) return true;
  if (is_digit(value[0]) || makeup.has(kOther | kHyphen)) return false;
  return makeup.has(kDot) && !has_entropy(value, 4.0);
}

bool is_path_or_url(std::string_view value) {
  static constexpr CharTable kFirst =
      table_of([](char c) { return std::string_view("hH./~").contains(c); });
  if (!kFirst[static_cast<unsigned char>(value[0])]) return false;
  if (begins_caseless(value, "http://") || begins_caseless(value, "https://")) return true;
  if (value.starts_with("./") || value.starts_with("../") || value.starts_with("~/")) return true;
  return value.starts_with('/') && (value.size() < 24 || !has_entropy(value, 4.2));
}

bool is_date_or_version(std::string_view value, const Makeup& makeup) {
  return is_digit(value[0]) && makeup.has(kDot | kHyphen | kColon) && !makeup.has(kNotDate);
}

// What only chance writes.
bool looks_random(std::string_view value, const Makeup& makeup) {
  if (value.size() < 20) return false;
  if (!makeup.has(kDigit) || !makeup.has(kLower) || !makeup.has(kUpper)) return false;
  if (!makeup.has(kNotHex) || makeup.has(kNotBase64) || is_path_or_url(value)) return false;
  return has_entropy(value, value.size() < 28 ? 3.7 : 4.1);
}

// Letters alone, perhaps with hyphens: a password may be, a token is not unless it is long.
bool word_is_secret(const Assigned& assigned, std::string_view value, const Makeup& makeup,
                    bool password) {
  using enum Assigned::By;
  if (value.size() < 16 && one_of(lower(value), kPlainWords)) return false;
  if (assigned.by == word || assigned.by == compare) return false;
  const bool joined = makeup.has(kUnderscore | kHyphen | kDot);
  if (!password) {
    if (joined || (!assigned.quoted && assigned.spaced)) return false;
    return value.size() >= 16;
  }
  if (assigned.quoted || assigned.by == flag || assigned.by == tag) return true;
  if (assigned.by == equals && !assigned.spaced) return !joined || assigned.begins_line;
  if (joined) return false;
  return assigned.ends_line && assigned.begins_line && value.size() >= 6;
}

// A value of a name of that kind has at least so many characters.
std::size_t shortest(unsigned checks) {
  return (checks & check::kPassword) != 0 ? 4 : (checks & check::kStrong) != 0 ? 20 : 8;
}

// Whether the value is a secret if its name is that of one.
bool value_is_secret(const Assigned& assigned, std::string_view value, const Makeup& makeup,
                     unsigned checks) {
  using enum Assigned::By;
  const bool password = (checks & check::kPassword) != 0, strong = (checks & check::kStrong) != 0;
  if (strong && !looks_random(value, makeup)) return false;
  if (is_placeholder(value, makeup)) return false;
  if (strong) return true;

  if (!assigned.quoted) {
    const bool env_line = assigned.begins_line && assigned.by == equals && !assigned.spaced;
    if (!env_line && is_expression(value, makeup)) return false;
    if (value.starts_with("os.environ") || value.starts_with("process.env") ||
        value.starts_with("getenv"))
      return false;
  }
  if (is_path_or_url(value)) return false;
  if (makeup.has(kBlank)) {
    // A sentence about a password is none; a pass phrase is called so.
    const bool phrase = contains_caseless(assigned.name, "phrase");
    return phrase || (password && makeup.has(kDigit) && value.size() <= 64 &&
                      std::ranges::count(value, ' ') <= 3);
  }
  if (equals_caseless(value, assigned.name)) return false;
  if (!makeup.has(kDigit | kOther)) return word_is_secret(assigned, value, makeup, password);
  if (!makeup.has(kLower | kUpper | kOther)) {
    // Digits and what stands between them.
    if (is_date_or_version(value, makeup)) return false;
    return password || value.size() >= 16 || contains_caseless(assigned.name, "secret");
  }
  if (assigned.by == word)
    return makeup.has(kDigit) && makeup.has(kLower | kUpper) && value.size() >= 6;
  // In prose a colon is followed by words with an odd sign in them.
  if (!makeup.has(kDigit) && !assigned.quoted && assigned.by == colon && !assigned.ends_line)
    return false;
  if (is_date_or_version(value, makeup)) return false;
  return true;
}

}  // namespace

bool looks_secret(const Sight& sight, const Assigned& assigned, unsigned checks) {
  constexpr std::size_t kTold = 48;  // what is longer is told by its beginning
  const Found& found = assigned.value;
  const std::string_view value =
      sight.text.substr(found.begin, std::min(found.end - found.begin, kTold));
  if (value.size() < shortest(checks)) return false;
  SeenName& seen = sight.recall->seen_name();
  if (seen.judged != value.size() || seen.judged_ends_line != assigned.ends_line) {
    seen.verdicts.fill(std::nullopt);
    seen.makeup = makeup_of(value);
    seen.judged = value.size();
    seen.judged_ends_line = assigned.ends_line;
  }
  const bool password = (checks & check::kPassword) != 0, strong = (checks & check::kStrong) != 0;
  auto& verdict = seen.verdicts[password ? 0 : strong ? 1 : 2];
  if (!verdict) verdict = value_is_secret(assigned, value, seen.makeup, checks);
  return *verdict && !speaks_about(assigned);
}

}  // namespace sallyport
