// The parts of a diff: each compares one side of a policy and notes what changed.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "policy/diff.h"

namespace sallyport {

// A list of changes of one subject, in the order they were found.
class ChangeList {
 public:
  struct Entry {
    Direction direction;
    std::string what;
  };

  void wider(std::string what) { entries_.push_back({Direction::wider, std::move(what)}); }
  void narrower(std::string what) { entries_.push_back({Direction::narrower, std::move(what)}); }
  void changed(std::string what) { entries_.push_back({Direction::changed, std::move(what)}); }
  // Notes `what` as wider or narrower; nothing if neither, changed if both.
  void ordered(bool allows_more, bool allows_less, std::string what);

  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }

 private:
  std::vector<Entry> entries_;
};

// Notes what is only in one of two lists; `gained` and `lost` begin the sentences.
void compare_lists(ChangeList& changes, std::vector<std::string> before,
                   std::vector<std::string> after, const std::string& gained,
                   const std::string& lost);

// Of two upper bounds, where none means unlimited.
template <class Value, class Text>
void compare_bounds(ChangeList& changes, const std::optional<Value>& before,
                    const std::optional<Value>& after, const std::string& name, Text text) {
  const auto shown = [&](const std::optional<Value>& value) {
    return value ? text(*value) : std::string("unlimited");
  };
  const bool more = before && (!after || *after > *before);
  const bool less = after && (!before || *after < *before);
  if (more || less) changes.ordered(more, less, name + " " + shown(before) + " → " + shown(after));
}

// What the tool is, whoever calls it.
void compare_tools(ChangeList& changes, const Rules& old_rules, const Tool& before,
                   const Rules& new_rules, const Tool& after);
void compare_arguments(ChangeList& changes, const Tool& before, const Tool& after);
void compare_files(ChangeList& changes, const Tool& before, const Tool& after);
void compare_network(ChangeList& changes, const Rules& old_rules, const Tool& before,
                     const Rules& new_rules, const Tool& after);

// What one caller can spend on a tool that it may call before and after.
void compare_envelopes(ChangeList& changes, const Envelope& before, const Envelope& after);

}  // namespace sallyport
