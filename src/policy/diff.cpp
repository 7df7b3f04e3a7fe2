#include "policy/diff.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "policy/caller_class.h"
#include "policy/changes.h"
#include "policy/words.h"

namespace sallyport {
namespace {

// Callers that are alike in both policies.
struct Pair {
  const Caller* before = nullptr;  // null: not in that policy
  const Caller* after = nullptr;
  std::vector<std::string> names;
};

std::vector<Pair> pair_callers(const Rules& before, const Rules& after) {
  std::map<std::pair<std::string, std::string>, Pair> pairs;
  const auto find = [](const Rules& rules, const std::string& name) -> const Caller* {
    const auto found = rules.callers.find(name);
    return found == rules.callers.end() ? nullptr : &found->second;
  };
  std::set<std::string> names;
  for (const auto& [name, caller] : before.callers)
    names.insert(name);
  for (const auto& [name, caller] : after.callers)
    names.insert(name);
  for (const std::string& name : names) {
    const Caller* const old_one = find(before, name);
    const Caller* const new_one = find(after, name);
    Pair& pair =
        pairs[{old_one ? likeness_of(*old_one) : "", new_one ? likeness_of(*new_one) : ""}];
    if (pair.names.empty()) {
      pair.before = old_one;
      pair.after = new_one;
    }
    pair.names.push_back(name);
  }
  std::vector<Pair> list;
  list.reserve(pairs.size());
  for (auto& [likeness, pair] : pairs)
    list.push_back(std::move(pair));
  return list;
}

// Lines of one tool; the same change of several callers becomes one.
class ToolLines {
 public:
  ToolLines(std::string tool, std::vector<PolicyChange>& changes)
      : tool_(std::move(tool)), changes_(changes), first_(changes.size()) {}

  void add(const ChangeList::Entry& entry, const std::vector<std::string>& who) {
    const auto same =
        std::find_if(changes_.begin() + static_cast<std::ptrdiff_t>(first_), changes_.end(),
                     [&](const PolicyChange& change) {
                       return change.direction == entry.direction && change.what == entry.what;
                     });
    if (same != changes_.end()) {
      same->who.insert(same->who.end(), who.begin(), who.end());
      return;
    }
    changes_.push_back({.direction = entry.direction,
                        .tool = tool_,
                        .who = who,
                        .what = entry.what,
                        .roles = {},
                        .others = {}});
  }

  // Who it is, in as few words as there are: nobody in particular if it is all of `everybody`.
  void name_them(const Rules& before, const Rules& after,
                 const std::vector<std::string>& everybody) {
    for (std::size_t i = first_; i < changes_.size(); ++i) {
      PolicyChange& change = changes_[i];
      std::ranges::sort(change.who);
      if (change.who == everybody)
        change.who.clear();
      else
        split_by_role(change, change.what == "may no longer call it" ? before : after);
    }
  }

 private:
  static void split_by_role(PolicyChange& change, const Rules& rules) {
    std::map<std::string, std::vector<std::string>> members;
    for (const auto& [name, caller] : rules.callers)
      members[caller.role].push_back(name);
    std::set<std::string> rest(change.who.begin(), change.who.end());
    for (const auto& [role, names] : members) {
      if (names.size() < 2 || !std::ranges::includes(change.who, names)) continue;
      change.roles.push_back(role + " (" + std::to_string(names.size()) + " callers)");
      for (const std::string& name : names)
        rest.erase(name);
    }
    change.others.assign(rest.begin(), rest.end());
  }

  std::string tool_;
  std::vector<PolicyChange>& changes_;
  std::size_t first_;
};

const Tool* find_tool(const Rules& rules, const std::string& name) {
  const auto found = rules.tools.find(name);
  return found == rules.tools.end() ? nullptr : &found->second;
}

std::optional<Envelope> allowed(const Rules& rules, const Tool* tool, const Caller* caller) {
  if (!tool || !caller) return std::nullopt;
  Envelope envelope = make_envelope(rules, *tool, *caller);
  if (!envelope.missing.empty()) return std::nullopt;
  return envelope;
}

void diff_tool(const std::string& name, const std::vector<Pair>& pairs, const Rules& before,
               const Rules& after, std::vector<PolicyChange>& changes) {
  const Tool* const old_tool = find_tool(before, name);
  const Tool* const new_tool = find_tool(after, name);
  ToolLines lines(name, changes);
  std::vector<std::string> both;  // callers that may call it before and after
  struct Spent {
    ChangeList changes;
    const Pair* pair;
  };
  std::vector<Spent> spent;
  for (const Pair& pair : pairs) {
    const auto old_one = allowed(before, old_tool, pair.before);
    const auto new_one = allowed(after, new_tool, pair.after);
    if (!old_one && new_one) lines.add({Direction::wider, "may now call it"}, pair.names);
    if (old_one && !new_one) lines.add({Direction::narrower, "may no longer call it"}, pair.names);
    if (!old_one || !new_one) continue;
    both.insert(both.end(), pair.names.begin(), pair.names.end());
    spent.push_back({{}, &pair});
    compare_envelopes(spent.back().changes, *old_one, *new_one);
  }
  std::ranges::sort(both);
  if (!both.empty()) {
    ChangeList own;
    compare_tools(own, before, *old_tool, after, *new_tool);
    for (const ChangeList::Entry& entry : own.entries())
      lines.add(entry, both);
  }
  for (const Spent& each : spent)
    for (const ChangeList::Entry& entry : each.changes.entries())
      lines.add(entry, each.pair->names);
  lines.name_them(before, after, both);
}

std::string lockout_text(const Lockout& lockout) {
  return std::to_string(lockout.after) + " denials within " + to_text(lockout.within) + " for " +
         to_text(lockout.lasts) + (lockout.by_caller ? " by caller" : "") +
         (lockout.by_address ? " by address" : "");
}

void compare_lockouts(ChangeList& changes, const std::optional<Lockout>& before,
                      const std::optional<Lockout>& after) {
  if (!before && !after) return;
  if (!before) return changes.narrower("lock-out after " + lockout_text(*after));
  if (!after) return changes.wider("no lock-out any more, before: " + lockout_text(*before));
  const bool more = after->after > before->after || after->within < before->within ||
                    after->lasts < before->lasts || (before->by_caller && !after->by_caller) ||
                    (before->by_address && !after->by_address);
  const bool less = after->after < before->after || after->within > before->within ||
                    after->lasts > before->lasts || (!before->by_caller && after->by_caller) ||
                    (!before->by_address && after->by_address);
  changes.ordered(more, less,
                  "lock-out after " + lockout_text(*before) + " → " + lockout_text(*after));
}

void diff_common(const Rules& before, const Rules& after, std::vector<PolicyChange>& changes) {
  ChangeList list;
  compare_lockouts(list, before.lockout, after.lockout);
  const auto globs = [](const std::vector<DenyRule>& rules) {
    return each_text(rules, [](const DenyRule& rule) { return rule.text; });
  };
  // What a ceiling forbids: the other way round.
  compare_lists(list, globs(after.ceiling.deny_files), globs(before.ceiling.deny_files),
                "files are no longer denied: ", "files are denied now: ");
  compare_lists(list, host_texts(after.ceiling.deny_hosts), host_texts(before.ceiling.deny_hosts),
                "hosts are no longer denied: ", "hosts are denied now: ");
  if (before.audit.arguments != after.audit.arguments)
    list.changed("arguments in the records: " + before.audit.arguments + " → " +
                 after.audit.arguments);
  for (const ChangeList::Entry& entry : list.entries())
    changes.push_back({.direction = entry.direction,
                       .tool = {},
                       .who = {},
                       .what = entry.what,
                       .roles = {},
                       .others = {}});
}

char mark_of(Direction direction) {
  return direction == Direction::wider ? '+' : direction == Direction::narrower ? '-' : '~';
}

std::string who_text(const PolicyChange& change) {
  std::string text;
  for (const std::string& role : change.roles)
    text.append(text.empty() ? "" : ", ").append("role ").append(role);
  if (!change.others.empty())
    text.append(text.empty() ? "" : ", ").append(list_names(change.others));
  return text;
}

}  // namespace

void ChangeList::ordered(bool allows_more, bool allows_less, std::string what) {
  if (allows_more && allows_less)
    changed(std::move(what));
  else if (allows_more)
    wider(std::move(what));
  else if (allows_less)
    narrower(std::move(what));
}

void compare_lists(ChangeList& changes, std::vector<std::string> before,
                   std::vector<std::string> after, const std::string& gained,
                   const std::string& lost) {
  std::ranges::sort(before);
  std::ranges::sort(after);
  std::vector<std::string> more, less;
  std::ranges::set_difference(after, before, std::back_inserter(more));
  std::ranges::set_difference(before, after, std::back_inserter(less));
  if (!more.empty()) changes.wider(gained + list_names(more));
  if (!less.empty()) changes.narrower(lost + list_names(less));
}

std::string_view name_of(Direction direction) {
  switch (direction) {
    case Direction::wider:
      return "wider";
    case Direction::narrower:
      return "narrower";
    case Direction::changed:
      return "changed";
  }
  return {};
}

std::vector<PolicyChange> diff(const Rules& before, const Rules& after) {
  std::vector<PolicyChange> changes;
  diff_common(before, after, changes);
  const std::vector<Pair> pairs = pair_callers(before, after);
  std::set<std::string> tools;
  for (const auto& [name, tool] : before.tools)
    tools.insert(name);
  for (const auto& [name, tool] : after.tools)
    tools.insert(name);
  for (const std::string& name : tools)
    diff_tool(name, pairs, before, after, changes);
  return changes;
}

bool may_allow_more(const std::vector<PolicyChange>& changes) {
  return std::ranges::any_of(
      changes, [](const PolicyChange& change) { return change.direction != Direction::narrower; });
}

std::string to_text(const PolicyChange& change) {
  std::string text(1, mark_of(change.direction));
  text.append(" ");
  if (!change.tool.empty()) text.append(change.tool).append(": ");
  const std::string who = who_text(change);
  if (!who.empty()) text.append(who).append(": ");
  text.append(change.what);
  // A sentence that begins with "may" or "can" says it already.
  if (change.what.find("→") != std::string::npos)
    text.append(" (").append(name_of(change.direction)).append(")");
  return escape_for_terminal(text);
}

json::object to_json(const PolicyChange& change) {
  json::array who;
  for (const std::string& name : change.who)
    who.emplace_back(name);
  json::object object{{"direction", name_of(change.direction)},
                      {"what", to_utf8(change.what)},
                      {"text", to_text(change)}};
  if (!change.tool.empty()) object["tool"] = change.tool;
  if (!change.who.empty()) object["callers"] = std::move(who);
  return object;
}

}  // namespace sallyport
