#include "policy/explain.h"

#include <algorithm>

#include "base/text.h"
#include "policy/caller_class.h"
#include "policy/explain_sections.h"
#include "policy/not_yet.h"
#include "policy/words.h"

namespace sallyport {
namespace {

template <class Map>
std::unexpected<Error> unknown(std::string_view kind, std::string_view name, const Map& known) {
  std::vector<std::string_view> names;
  names.reserve(known.size());
  for (const auto& [each, value] : known)
    names.push_back(each);
  std::string hint;
  if (const auto meant = nearest(name, names))
    hint = "did you mean " + quoted(*meant) + "?";
  else if (names.empty())
    hint = "the policy has none";
  else
    hint =
        "the policy has " + list_some_names(std::vector<std::string>(names.begin(), names.end()));
  return fail(Reason::argument,
              std::string("the policy has no ").append(kind).append(" ").append(quoted(name)),
              std::move(hint));
}

std::vector<ExplainedGap> list_gaps(const Tool& tool) {
  std::vector<ExplainedGap> gaps;
  const std::string place = "tools." + tool.name + ".";
  if (tool.approval || tool.irreversible)
    gaps.push_back({place + (tool.approval ? "approval" : "irreversible"), "approval",
                    !tool.approval || !tool.approval->when});
  for (const NotYet& row : not_yet())
    if (row.asked(tool)) gaps.push_back({place + std::string(row.key), std::string(row.what)});
  return gaps;
}

// Why nobody can call a tool that has no callers, or who else could.
ExplainedSection who_may(const Rules& rules, const Tool& tool,
                         const std::vector<ExplainedCallers>& callers) {
  ExplainedSection section{"Who may call it", {}};
  section.facts.push_back({"needs", tool.needs.empty()
                                        ? "no permission: every caller of the policy may call it"
                                        : list_names(tool.needs) + ", or admin"});
  std::vector<std::string> roles;
  for (const auto& [name, role] : rules.roles) {
    Caller caller;
    caller.name = "nobody";
    caller.role = name;
    caller.tenant = "default";
    if (make_envelope(rules, tool, caller).missing.empty()) roles.push_back(name);
  }
  section.facts.push_back({"roles", roles.empty() ? "none" : list_names(roles)});
  std::vector<std::string> names;
  for (const ExplainedCallers& alike : callers)
    if (alike.envelope.missing.empty())
      names.insert(names.end(), alike.names.begin(), alike.names.end());
  std::ranges::sort(names);
  section.facts.push_back({"callers", names.empty() ? "none" : list_some_names(names)});
  return section;
}

ExplainedCallers explain_callers(const Rules& rules, const Tool& tool, const CallerClass& alike) {
  ExplainedCallers callers{.names = alike.names,
                           .role = alike.example->role,
                           .tenant = alike.example->tenant,
                           .envelope = make_envelope(rules, tool, *alike.example),
                           .sections = {}};
  if (!callers.envelope.missing.empty()) {
    callers.sections.push_back(
        {"Refused",
         {{"", list_some_names(callers.names) + " may not call " + tool.name + ": the role " +
                   callers.role + " lacks " + list_names(callers.envelope.missing) + "."}}});
    return callers;
  }
  callers.sections = envelope_sections(rules, callers.envelope, callers.names.size());
  return callers;
}

json::array facts_json(const std::vector<ExplainedSection>& sections) {
  json::array array;
  for (const ExplainedSection& section : sections) {
    json::array facts;
    for (const ExplainedFact& fact : section.facts) {
      json::object object;
      if (!fact.name.empty()) object["name"] = to_utf8(fact.name);
      object["text"] = to_utf8(fact.text);
      facts.push_back(std::move(object));
    }
    array.push_back(json::object{{"title", section.title}, {"facts", std::move(facts)}});
  }
  return array;
}

}  // namespace

Result<Explanation> explain(const Rules& rules, std::string_view tool_name,
                            std::optional<std::string_view> caller_name) {
  const auto tool = rules.tools.find(tool_name);
  if (tool == rules.tools.end()) return unknown("tool", tool_name, rules.tools);

  Explanation explanation{.tool = tool->second.name,
                          .description = tool->second.description,
                          .policy = rules.hash,
                          .sections = {},
                          .callers = {},
                          .gaps = list_gaps(tool->second)};
  std::vector<ExplainedCallers> all;
  for (const CallerClass& alike : group_callers(rules))
    all.push_back(explain_callers(rules, tool->second, alike));
  explanation.sections.push_back(who_may(rules, tool->second, all));
  for (ExplainedSection& section : tool_sections(rules, tool->second))
    explanation.sections.push_back(std::move(section));

  if (caller_name) {
    const auto caller = rules.callers.find(*caller_name);
    if (caller == rules.callers.end()) return unknown("caller", *caller_name, rules.callers);
    explanation.callers.push_back(explain_callers(
        rules, tool->second, {.example = &caller->second, .names = {caller->second.name}}));
  } else {
    std::erase_if(all, [](const ExplainedCallers& each) { return !each.envelope.missing.empty(); });
    explanation.callers = std::move(all);
  }
  return explanation;
}

json::object to_json(const Explanation& explanation) {
  json::array callers;
  for (const ExplainedCallers& alike : explanation.callers) {
    json::array names;
    for (const std::string& name : alike.names)
      names.emplace_back(name);
    json::object object{{"callers", std::move(names)},
                        {"role", alike.role},
                        {"tenant", alike.tenant},
                        {"allowed", alike.envelope.missing.empty()},
                        {"sections", facts_json(alike.sections)},
                        {"envelope", to_json(alike.envelope)},
                        {"envelope_hash", alike.envelope.hash}};
    callers.push_back(std::move(object));
  }
  json::array gaps;
  for (const ExplainedGap& gap : explanation.gaps)
    gaps.push_back(
        json::object{{"rule", gap.rule}, {"what", gap.what}, {"every_call", gap.every_call}});
  return {{"tool", explanation.tool},      {"description", to_utf8(explanation.description)},
          {"policy", explanation.policy},  {"sections", facts_json(explanation.sections)},
          {"callers", std::move(callers)}, {"unavailable", std::move(gaps)}};
}

}  // namespace sallyport
