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
  return "`sallyport tools list`, or GET /v1/tools, shows the tools that there are";
}

std::string list(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names)
    text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

// Permissions that the tool needs and the caller's credential is not for. A tool that needs none is
// within every scope.
std::vector<std::string> beyond_scopes(const Passage& passage) {
  std::vector<std::string> beyond;
  const auto& scopes = passage.request.scopes;
  if (!scopes || std::ranges::find(*scopes, "admin") != scopes->end()) return beyond;
  for (const std::string& permission : passage.tool->needs)
    if (std::ranges::find(*scopes, permission) == scopes->end()) beyond.push_back(permission);
  return beyond;
}

// What the caller shows of its own: the tool has to let it. Whether it is the caller's own is for
// the launcher to find out.
Pass check_client(const Passage& passage) {
  if (!passage.request.client) return {};
  const Tool& tool = *passage.tool;
  const std::string rule = "tools." + tool.name + ".files.client";
  if (tool.files.client == ClientFiles::none)
    return Block{Reason::permission, rule, tool.name + " lets no caller show it files",
                 "call it without --read and --write"};
  if (tool.files.client == ClientFiles::read &&
      std::ranges::any_of(passage.request.client->files, &CallClientFile::write))
    return Block{Reason::permission, rule, tool.name + " lets callers show it files to read only",
                 "give them with --read"};
  if (passage.shared.launcher.empty())
    return Block{Reason::unavailable, rule, "only a service can be shown files by its callers",
                 "call it through one: sallyport run --via"};
  return {};
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
  if (auto beyond = beyond_scopes(passage); !beyond.empty()) {
    const std::string why =
        passage.tool->name + " needs " + list(beyond) + ", which the key of this caller is not for";
    passage.result.missing = std::move(beyond);
    passage.result.required = passage.tool->needs;
    return Block{Reason::permission, "key.scopes", why, "use a key with this scope"};
  }
  if (Pass block = check_client(passage)) return block;
  if (Pass block = check_available(passage)) return block;
  auto limits = tighten(envelope, passage.request.limits);
  if (!limits) return Block::from(limits.error(), "request.limits");
  passage.limits = *limits;
  passage.result.deadline_us = limits->timeout.count();
  return {};
}

}  // namespace sallyport
