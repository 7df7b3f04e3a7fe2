// What a caller may give a tool, before and after.
#include <algorithm>
#include <set>

#include "base/text.h"
#include "policy/changes.h"
#include "policy/words.h"

namespace sallyport {
namespace {

std::string shown(const json::value* value) {
  return value ? json::serialize(*value) : "none";
}

// Keywords that bound from above or from below, and can be ordered by their number alone.
constexpr std::string_view kUpper[] = {"maximum", "exclusiveMaximum", "maxLength", "maxItems",
                                       "maxProperties"};
constexpr std::string_view kLower[] = {"minimum", "exclusiveMinimum", "minLength", "minItems",
                                       "minProperties"};
constexpr std::string_view kAnnotations[] = {"title", "description", "examples", "$comment"};

bool is_one_of(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// Whether `after` lets more through than `before`: a missing bound bounds nothing.
bool allows_more(const json::value* before, const json::value* after, bool upper) {
  if (!before) return false;
  if (!after) return true;
  const auto order = compare_numbers(*after, *before);
  return upper ? order > 0 : order < 0;
}

bool holds_all(const json::array& some, const json::array& others) {
  return std::ranges::all_of(others, [&](const json::value& other) {
    return std::ranges::any_of(some,
                               [&](const json::value& each) { return json_equal(each, other); });
  });
}

void compare_keyword(ChangeList& changes, const std::string& name, const json::value* before,
                     const json::value* after, const std::string& keyword) {
  if (before && after && json_equal(*before, *after)) return;
  const std::string what =
      "argument " + name + ": " + keyword + " " + shown(before) + " → " + shown(after);
  const bool upper = is_one_of(kUpper, keyword);
  const auto is_bound = [](const json::value* value) { return !value || value->is_number(); };
  if ((upper || is_one_of(kLower, keyword)) && is_bound(before) && is_bound(after))
    return changes.ordered(allows_more(before, after, upper), allows_more(after, before, upper),
                           what);
  // A keyword that is not there refuses nothing, whatever it is, as long as no other depends on it.
  const bool alone = keyword == "enum" || keyword == "const" || keyword == "pattern" ||
                     keyword == "multipleOf" || keyword == "type";
  if (alone && (!before || !after)) return changes.ordered(!after, !before, what);
  if (keyword == "enum" && before->is_array() && after->is_array())
    return changes.ordered(!holds_all(before->as_array(), after->as_array()),
                           !holds_all(after->as_array(), before->as_array()), what);
  changes.changed(what);
}

void compare_schemas(ChangeList& changes, const Argument& before, const Argument& after) {
  std::set<std::string> keywords;
  for (const auto& pair : before.definition)
    keywords.emplace(pair.key());
  for (const auto& pair : after.definition)
    keywords.emplace(pair.key());
  for (const std::string& keyword : keywords)
    if (!is_one_of(kAnnotations, keyword) && keyword != "default")
      compare_keyword(changes, before.name, before.definition.if_contains(keyword),
                      after.definition.if_contains(keyword), keyword);
}

std::vector<std::string> hosts_not_in(const std::vector<HostPattern>& some,
                                      const std::vector<HostPattern>& others) {
  std::vector<std::string> found;
  for (const HostPattern& host : some)
    if (std::ranges::find(others, host) == others.end()) found.push_back(host.to_text());
  return found;
}

void compare_hosts(ChangeList& changes, const std::string& place, const Argument& before,
                   const Argument& after) {
  // None of them means any.
  if (before.hosts.empty() != after.hosts.empty())
    return changes.ordered(
        after.hosts.empty(), before.hosts.empty(),
        place + (after.hosts.empty() ? "any host may be given" : "only some hosts may be given"));
  const auto more = hosts_not_in(after.hosts, before.hosts);
  const auto less = hosts_not_in(before.hosts, after.hosts);
  if (!more.empty()) changes.wider(place + "the host may now be " + list_names(more, "or"));
  if (!less.empty())
    changes.narrower(place + "the host may no longer be " + list_names(less, "or"));
}

bool lies_below(std::string_view path, std::string_view directory) {
  while (directory.ends_with('/'))
    directory.remove_suffix(1);
  return path == directory || (path.starts_with(directory) && path[directory.size()] == '/');
}

void compare_argument(ChangeList& changes, const Argument& before, const Argument& after) {
  const std::string place = "argument " + before.name + ": ";
  if (before.type != after.type) return changes.changed(place + "another type");
  compare_schemas(changes, before, after);

  const bool could_miss = before.optional || before.fallback;
  const bool may_miss = after.optional || after.fallback;
  changes.ordered(may_miss && !could_miss, could_miss && !may_miss,
                  place + (may_miss ? "may be left out now" : "has to be given now"));
  if (could_miss && may_miss) {
    const json::value* const a = before.fallback ? &*before.fallback : nullptr;
    const json::value* const b = after.fallback ? &*after.fallback : nullptr;
    if ((a == nullptr) != (b == nullptr) || (a && !json_equal(*a, *b)))
      changes.changed(place + "default " + shown(a) + " → " + shown(b));
  }
  changes.ordered(after.dash && !before.dash, before.dash && !after.dash,
                  place + (after.dash ? "may begin with '-' now" : "may no longer begin with '-'"));
  changes.ordered(
      after.multiline && !before.multiline, before.multiline && !after.multiline,
      place + (after.multiline ? "may hold line ends now" : "may no longer hold line ends"));
  if (before.type == ArgumentType::string || before.type == ArgumentType::url)
    changes.ordered(after.max_length > before.max_length, after.max_length < before.max_length,
                    place + "length " + std::to_string(before.max_length) + " → " +
                        std::to_string(after.max_length));
  if (before.below != after.below)
    changes.ordered(!lies_below(after.below, before.below), !lies_below(before.below, after.below),
                    place + "below " + before.below + " → " + after.below);
  changes.ordered(before.exists && !after.exists, after.exists && !before.exists,
                  place + (after.exists ? "has to exist now" : "need not exist any more"));
  compare_lists(changes, before.schemes, after.schemes, place + "the scheme may now be ",
                place + "the scheme may no longer be ");
  compare_hosts(changes, place, before, after);
}

}  // namespace

void compare_arguments(ChangeList& changes, const Tool& before, const Tool& after) {
  const auto find = [](const Tool& tool, const std::string& name) -> const Argument* {
    const auto found = std::ranges::find(tool.args, name, &Argument::name);
    return found == tool.args.end() ? nullptr : &*found;
  };
  for (const Argument& argument : before.args) {
    const Argument* const other = find(after, argument.name);
    if (other)
      compare_argument(changes, argument, *other);
    else
      changes.narrower("argument " + argument.name + ": can no longer be given");
  }
  for (const Argument& argument : after.args)
    if (!find(before, argument.name))
      changes.wider("argument " + argument.name + ": can be given now");
}

}  // namespace sallyport
