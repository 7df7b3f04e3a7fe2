#include <algorithm>

#include "base/text.h"
#include "boundary/gates.h"

namespace sallyport {
namespace {

// Only tools that the caller may use are suggested: a list of the others is worth something to an
// attacker.
std::string suggest_tool(const Passage& passage) {
  std::vector<std::string_view> names;
  const auto& roles = passage.shared.rules.roles;
  const auto role = roles.find(passage.caller->role);
  const auto add = [&](const std::string& name, const Tool& tool) {
    if (missing_permissions(tool, role != roles.end() ? &role->second : nullptr).empty())
      names.push_back(name);
  };
  for (const auto& [name, tool] : passage.shared.rules.tools)
    add(name, tool);
  for (const auto& [name, function] : passage.shared.functions)
    add(name, function.tool);
  if (const auto meant = nearest(passage.request.tool, names))
    return "did you mean " + std::string(*meant) + "?";
  return "`sallyport tools list` shows the tools that there are";
}

std::string list(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names)
    text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

}  // namespace

Pass authorise(Passage& passage) {
  if (passage.tool == nullptr)
    return Block{Reason::unknown_tool, "tools", "there is no tool " + quoted(passage.request.tool),
                 suggest_tool(passage)};
  const Envelope& envelope = *passage.envelope;
  if (!envelope.missing.empty()) {
    passage.result.missing = envelope.missing;
    passage.result.required = passage.tool->needs;
    return Block{Reason::permission, "tools." + passage.tool->name + ".needs",
                 passage.caller->name + " may not call " + passage.tool->name + ": it lacks " +
                     list(envelope.missing),
                 passage.caller->role.empty()
                     ? "the caller has no role in the policy"
                     : "the role " + passage.caller->role + " would need this permission"};
  }
  if (Pass block = check_available(passage)) return block;
  auto limits = tighten(envelope, passage.request.limits);
  if (!limits) return Block::from(limits.error(), "request.limits");
  passage.limits = *limits;
  return {};
}

}  // namespace sallyport
