// All rules as they are when they are ready to be looked for.
#pragma once

#include <hs/hs.h>
#include <re2/re2.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "redact/ready_rule.h"
#include "redact/recall.h"
#include "redact/redact.h"
#include "redact/rule.h"

namespace sallyport {

struct FreeDatabase {
  void operator()(hs_database_t* database) const { hs_free_database(database); }
};
struct FreeScratch {
  void operator()(hs_scratch_t* scratch) const { hs_free_scratch(scratch); }
};
using Database = std::unique_ptr<hs_database_t, FreeDatabase>;
using Scratch = std::unique_ptr<hs_scratch_t, FreeScratch>;

// Where a span's marker and count come from.
struct Label {
  std::string id, marker;
  std::uint32_t order = 0;  // of the rules
  std::uint8_t rank = 0;    // the lower one names what several rules found together
};

// One thing that Hyperscan looks for.
struct Expression {
  enum class Of : std::uint8_t { rule, marker, value, pattern };
  Of of = Of::rule;
  RuleKind kind = RuleKind::token;  // of a rule, as what follows
  std::uint8_t rank = 0;            // of its label
  const ReadyRule* ready = nullptr;
  const CharTable* follow = nullptr;  // what may stand behind it; null: anything
  bool whole_word = false;            // no more of a word stands behind it
  bool needs_digit = false;           // somewhere behind it in its window, or nothing is found
  bool needs_cases = false;           // and a letter of either case
  std::uint32_t number = 0;           // of the form or the pattern
  std::uint32_t width = 0;   // from its end back to where it began; 0: the rule's kind knows
  std::uint32_t lead = 0;    // how far before that a find may begin
  std::uint32_t window = 0;  // how much of the text behind its beginning is looked at
  std::uint32_t label = 0;
  std::uint32_t next = 0;  // another expression with the same pattern; 0: none
};

// A set of expressions that are looked for together.
struct Net {
  Database database;
  std::vector<Expression> expressions;
  std::vector<Label> labels;
  std::size_t furthest_back = 0;  // of all expressions, from their end to where a find may begin
};

struct OwnPattern {
  std::unique_ptr<RE2> expression;
  std::size_t longest = 0;
};

struct OwnForm {
  std::string text;
  bool base64 = false;
};

// A text between brackets of ours.
inline constexpr std::size_t kLongestMarker = 64;
inline constexpr std::size_t kLongestPattern = 1024;

[[nodiscard]] bool is_marker(std::string_view text);

// The built-in rules of the groups in `mask`.
[[nodiscard]] Result<std::shared_ptr<const Net>> built_in_net(unsigned mask);

// For the build: pack_ready_nets() of the sets with these groups.
[[nodiscard]] Result<std::string> make_ready_nets(
    const std::vector<std::vector<std::string>>& choices);

struct Redactions::Parts {
  std::shared_ptr<const Net> built_in;  // always there: it finds the markers, too
  Net own;
  std::vector<OwnPattern> patterns;
  std::vector<OwnForm> forms;

  // Scratch space for both nets, of which a scan needs one.
  [[nodiscard]] Scratch take_scratch() const;
  void give_back(Scratch scratch) const;
  Scratch prototype;
  mutable std::mutex mutex;
  mutable std::vector<Scratch> spare;
};

// Reason::cannot_enforce if the scanner says that it cannot run on this CPU.
[[nodiscard]] Result<void> check_platform(hs_error_t verdict);

}  // namespace sallyport
