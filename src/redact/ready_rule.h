// A built-in rule as the search uses it: what its expressions say that can be told without them.
#pragma once

#include <re2/re2.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "redact/recall.h"
#include "redact/rule.h"

namespace sallyport {

// So many characters of a class.
struct Counted {
  CharClass chars;
  std::size_t least = 0, most = 0;
};

// A built-in rule, its regular expression if it has one, and the parts of both whose runs are
// remembered instead of matched again and again: characters of a class behind the anchor, and what
// the text ends with, which is any number of them.
struct ReadyRule {
  const RedactionRule* rule = nullptr;
  std::string_view anchor;  // that of the rule up to `counted`
  std::optional<Counted> counted;
  std::unique_ptr<RE2> rest;
  struct {
    unsigned char least = 0, most = 255;
  } first;                            // between these is what `rest` begins with: told without it
  std::optional<Counted> rest_begin;  // what `rest` begins with at least, as well
  std::optional<CharClass> tail;
  // What is taken out is the tail alone, and so many characters before it. Cheaper than a group.
  std::optional<std::size_t> group;
};

[[nodiscard]] const std::vector<ReadyRule>& ready_rules();
// How many classes of characters they have, with those that are written in code.
[[nodiscard]] std::size_t char_classes();

}  // namespace sallyport
