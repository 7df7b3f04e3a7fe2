// What no section can see alone: names that lead nowhere, what exceeds the ceiling, approvals that
// nobody can give, grants that are denied.
#include <algorithm>
#include <initializer_list>
#include <set>
#include <unordered_map>

#include "base/text.h"
#include "egress/network_map.h"
#include "http/characters.h"
#include "input/url.h"
#include "policy/inside_path.h"
#include "policy/limit_value.h"
#include "policy/load.h"
#include "policy/network_access.h"

namespace sallyport {
namespace {

using Keys = std::initializer_list<std::string_view>;

std::string rule_of(Keys keys) {
  std::string rule;
  for (const std::string_view key : keys)
    rule.append(rule.empty() ? "" : ".").append(key);
  return rule;
}

class Checker {
 public:
  Checker(const Node& root, const Rules& rules, Notes& notes)
      : root_(root), rules_(rules), notes_(notes) {}

  void check() {
    check_callers();
    check_roles();
    check_ceiling_limits();
    for (const auto& [name, tool] : rules_.tools)
      check_tool(tool);
    check_credentials();
    check_tests();
  }

 private:
  // Where a value stands, or, if it is not there, the nearest thing around it. Only called to
  // report.
  [[nodiscard]] Place place_of(Keys keys) const {
    const Node* node = &root_;
    Place place = root_.place;
    for (const std::string_view key : keys) {
      node = find(*node, key);
      if (!node) return place;
      place = node->place;
    }
    return place;
  }

  // The same for the item of a list that is written as `text`, or stands at `place`; and its rule.
  [[nodiscard]] std::pair<Place, std::string> find_item(Keys keys, std::string_view text,
                                                        Place place) const {
    const Node* list = &root_;
    for (const std::string_view key : keys)
      if (list = find(*list, key); !list) break;
    for (std::size_t i = 0; list && i < list->items.size(); ++i) {
      const Node& item = list->items[i];
      const bool there =
          place.line != 0 && item.place.line == place.line && item.place.column == place.column;
      if (there || (item.kind == Node::Kind::scalar && item.text == text))
        return {item.place, rule_of(keys) + "[" + std::to_string(i) + "]"};
    }
    return {place_of(keys), rule_of(keys)};
  }

  [[nodiscard]] bool is_written(Keys keys) const {
    const Node* node = &root_;
    for (const std::string_view key : keys)
      if (node = find(*node, key); !node) return false;
    return true;
  }

  // As Node::find, without a walk through a thousand tools for each of them.
  [[nodiscard]] const Node* find(const Node& map, std::string_view key) const {
    if (map.entries.size() < 32) return map.find(key);
    auto& index = indexes_[&map];
    if (index.empty())
      for (const NodeEntry& entry : map.entries)
        index.emplace(entry.key.text, &entry.value);
    const auto found = index.find(key);
    return found == index.end() ? nullptr : found->second;
  }

  void refuse(Keys keys, std::string message, std::string hint) const {
    refuse_at(place_of(keys), rule_of(keys), std::move(message), std::move(hint));
  }
  void refuse_item(Keys keys, std::string_view text, Place at, std::string message,
                   std::string hint) const {
    if (notes_.full()) return;
    auto [place, rule] = find_item(keys, text, at);
    refuse_at(place, std::move(rule), std::move(message), std::move(hint));
  }
  void refuse_at(Place place, std::string rule, std::string message, std::string hint) const {
    if (notes_.full()) return;
    notes_.problems.push_back({notes_.file, place.line, place.column, std::move(rule),
                               std::move(message), std::move(hint)});
  }
  void warn_at(Place place, std::string rule, std::string message, std::string hint) const {
    notes_.warnings.push_back({notes_.file, place.line, place.column, std::move(rule),
                               std::move(message), std::move(hint)});
  }

  template <class Thing>
  static std::string suggest(std::string_view name,
                             const std::map<std::string, Thing, std::less<>>& things,
                             std::string_view section) {
    std::vector<std::string_view> names;
    names.reserve(things.size());
    for (const auto& [each, thing] : things)
      names.push_back(each);
    if (const auto meant = nearest(name, names))
      return "did you mean '" + std::string(*meant) + "'?";
    return "describe it under `" + std::string(section) + "`";
  }

  void check_callers() const {
    for (const auto& [name, caller] : rules_.callers) {
      if (caller.role.empty()) {
        warn_at(caller.place, rule_of({"callers", name}),
                "the caller has no role, and so no permissions", "write role: NAME");
      } else if (!rules_.roles.contains(caller.role)) {
        refuse({"callers", name, "role"}, "there is no role " + quoted(caller.role),
               suggest(caller.role, rules_.roles, "roles"));
      }
      if (caller.tenant != "default" && !rules_.tenants.contains(caller.tenant))
        refuse({"callers", name, "tenant"}, "there is no tenant " + quoted(caller.tenant),
               suggest(caller.tenant, rules_.tenants, "tenants"));
    }
  }

  void check_roles() {
    for (const auto& [name, caller] : rules_.callers)
      callers_of_[caller.role].push_back(&caller);
    for (const auto& [name, role] : rules_.roles)
      permissions_.insert(role.permissions.begin(), role.permissions.end());
    for (const auto& [name, role] : rules_.roles)
      if (!callers_of_.contains(name))
        warn_at(role.place, rule_of({"roles", name}), "nobody has this role",
                "give it to a caller, or take it out");
  }

  // --- the ceiling

  void check_limits(const LimitRules& limits, std::string_view section,
                    std::string_view name) const {
#define SALLYPORT_CHECK_LIMIT(limit, type, sentence)                                               \
  if (limits.limit && rules_.ceiling.limits.limit && *limits.limit > *rules_.ceiling.limits.limit) \
    exceeds(section, name, #limit, limit_text(*limits.limit),                                      \
            limit_text(*rules_.ceiling.limits.limit));
    SALLYPORT_LIMITS(SALLYPORT_CHECK_LIMIT)
#undef SALLYPORT_CHECK_LIMIT
  }

  void exceeds(std::string_view section, std::string_view name, std::string_view limit,
               const std::string& value, const std::string& most) const {
    const std::string message = value + " is more than the ceiling, " + most;
    const std::string hint =
        "write at most " + most + ", or raise ceiling.limits." + std::string(limit);
    if (name.empty())
      refuse({section, "limits", limit}, message, hint);
    else if (is_written({section, name, "limits", limit}))  // else it is of `defaults`
      refuse({section, name, "limits", limit}, message, hint);
  }

  void check_ceiling_limits() const {
    check_limits(rules_.defaults.limits, "defaults", {});
    for (const auto& [name, tool] : rules_.tools)
      check_limits(tool.limits, "tools", name);
    for (const auto& [name, role] : rules_.roles)
      check_limits(role.limits, "roles", name);
    for (const auto& [name, tenant] : rules_.tenants)
      check_limits(tenant.limits, "tenants", name);
    for (const auto& [name, caller] : rules_.callers)
      check_limits(caller.limits, "callers", name);
  }

  // The rule that denies `path`, something above it, all that is in it, or a named thing below it.
  // A grant shows everything below it, so what is denied there by name would be shown.
  [[nodiscard]] const DenyRule* denied(const std::string& path) const {
    for (const DenyRule& rule : rules_.ceiling.deny_files) {
      for (std::size_t end = path.size(); end != std::string::npos && end > 0;
           end = path.rfind('/', end - 1))
        if (rule.glob.matches(std::string_view(path).substr(1, end - 1))) return &rule;
      const std::string below = (path == "/" ? path : path + "/");
      if (rule.glob.matches(std::string_view(below + "\x01").substr(1))) return &rule;
      const std::string_view literal =
          std::string_view(rule.text).substr(0, rule.text.find_first_of("*?[\\"));
      if (literal.starts_with(below)) return &rule;
    }
    return nullptr;
  }

  void check_files(const Tool& tool) const {
    for (const auto& [key, list] :
         {std::pair{"read", &tool.files.read}, std::pair{"write", &tool.files.write}})
      for (const FileRule& rule : *list)
        if (const DenyRule* deny = denied(rule.host))
          refuse_item(
              {"tools", tool.name, "files", key}, rule.host, rule.place,
              quoted(rule.host) + " would show what the ceiling denies, " + quoted(deny->text),
              "grant another path, or change ceiling.files.deny");
    for (const Argument& argument : tool.args) {
      if (argument.below.empty()) continue;
      if (const DenyRule* deny = denied(argument.below))
        refuse(
            {"tools", tool.name, "args", argument.name, "below"},
            quoted(argument.below) + " would show what the ceiling denies, " + quoted(deny->text),
            "name another directory, or change ceiling.files.deny");
      if (tool.kind != ToolKind::command) continue;
      if (const auto inside = inside_path(tool.files, argument.below))
        check_path_templates(tool, argument, *inside);
      else
        refuse({"tools", tool.name, "args", argument.name, "below"},
               "the tool does not see " + quoted(argument.below),
               "show it to the tool under files.read or files.write");
    }
  }

  // "/other/{file}" would become /other//data/a.txt: what fills a path is whole already.
  void check_path_templates(const Tool& tool, const Argument& argument,
                            const std::string& inside) const {
    for (const Template& element : tool.run)
      for (std::size_t i = 1; i < element.pieces.size(); ++i)
        if (element.pieces[i].argument == argument.name &&
            element.pieces[i - 1].text.ends_with('/') &&
            !element.pieces[i - 1].text.ends_with(inside + "/"))
          refuse({"tools", tool.name, "run"},
                 "the path {" + argument.name + "} stands behind another path, " +
                     quoted(element.pieces[i - 1].text),
                 "write \"{" + argument.name + "}\": it becomes a path such as " +
                     quoted(inside + "/name"));
  }

  void check_database(const Tool& tool) const {
    constexpr std::string_view kFile = "sqlite:";
    if (!tool.database.starts_with(kFile)) return;
    const std::string path = tool.database.substr(kFile.size());
    if (const DenyRule* deny = denied(path))
      refuse({"tools", tool.name, "database"},
             quoted(path) + " is what the ceiling denies, " + quoted(deny->text),
             "name another database, or change ceiling.files.deny");
  }

  // Whether every host of `allowed` is one of `deny`.
  static bool covers(const HostPattern& deny, const HostPattern& allowed) {
    if (!allowed.covers_subdomains()) return deny.matches(allowed.base());
    return deny.covers_subdomains() &&
           (deny.base() == allowed.base() || deny.matches(allowed.base()));
  }

  [[nodiscard]] const HostPattern* denied_host(const HostPattern& host) const {
    for (const HostPattern& deny : rules_.ceiling.deny_hosts)
      if (covers(deny, host)) return &deny;
    return nullptr;
  }

  void check_network(const NetworkRules& network, Keys keys) const {
    for (const HostRule& host : network.allow) {
      const HostPattern* deny = denied_host(host.host);
      std::string_view who = "the ceiling";
      for (const HostPattern& own : network.deny)
        if (!deny && covers(own, host.host)) {
          deny = &own;
          who = "the same `network`";
        }
      if (deny)
        refuse_item(keys, host.host.to_text(), host.place,
                    quoted(host.host.to_text()) + " is denied by " + std::string(who) + ", as " +
                        quoted(deny->to_text()),
                    "take one of the two out");
    }
  }

  // --- tools

  void check_tool(const Tool& tool) {
    // A promise about data that no call could keep: the tool would run, and then fail.
    const bool runs_code = tool.kind == ToolKind::builtin && tool.builtin <= Builtin::run_command;
    if (tool.output.schema && !tool.result_json && (tool.kind == ToolKind::command || runs_code))
      refuse({"tools", tool.name, "output"},
             "there is a schema for the result, and the tool gives text",
             "write result: json, or take the schema out");
    check_files(tool);
    check_database(tool);
    check_needs(tool);
    if (tool.share_network && !rules_.ceiling.deny_hosts.empty())
      refuse({"tools", tool.name, "dangerously_share_network"},
             "the ceiling denies hosts, which cannot be held where the network is shared",
             "take one of the two out");
    if (auto map = NetworkMap::make(network_access(rules_.ceiling, tool)); !map)
      refuse({"tools", tool.name, "network"}, map.error().message, map.error().hint);
    if (is_written({"tools", tool.name, "network"}))
      check_network(tool.network, {"tools", tool.name, "network", "allow"});
    for (const std::string& name : tool.credentials)
      if (!rules_.credentials.contains(name))
        refuse_item({"tools", tool.name, "credentials"}, name, {},
                    "there is no credential " + quoted(name),
                    suggest(name, rules_.credentials, "credentials"));
    for (std::size_t i = 0; i < tool.granted.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (auto why = clash_of(tool.granted[j], tool.granted[i]); !why.empty())
          refuse_item({"tools", tool.name, "credentials"}, tool.granted[i].name, {},
                      quoted(tool.granted[j].name) + " has " + why,
                      "take one of the two out, or give it to a tool of its own");
    if (tool.kind == ToolKind::http) check_http(tool);
    if (tool.approval) check_approval(tool, *tool.approval);
  }

  // A tool that nobody can ever call is a mistake of spelling more often than not.
  void check_needs(const Tool& tool) const {
    if (permissions_.contains("admin")) return;
    for (const std::string& need : tool.needs) {
      if (permissions_.contains(need)) continue;
      // A search among all of them, for a few.
      std::vector<std::string_view> known;
      if (notes_.warnings.size() < 100) known.assign(permissions_.begin(), permissions_.end());
      const auto meant = nearest(need, known);
      const auto [place, rule] = find_item({"tools", tool.name, "needs"}, need, {});
      warn_at(place, rule,
              "no role has the permission " + quoted(need) + ", and so nobody can call the tool",
              meant ? "did you mean '" + std::string(*meant) + "'?" : "give it to a role");
    }
  }

  void check_http(const Tool& tool) const {
    const auto url = fixed_part(tool.http);
    if (!url) return;
    const auto* host = std::get_if<HostName>(&url->host());
    if (!host) return;
    for (const HostPattern& deny : rules_.ceiling.deny_hosts)
      if (deny.matches(*host))
        refuse({"tools", tool.name, "http", "url"},
               quoted(host->to_text()) + " is denied by the ceiling, as " + quoted(deny.to_text()),
               "take one of the two out");
    for (const HostPattern& deny : tool.network.deny)
      if (deny.matches(*host))
        refuse({"tools", tool.name, "http", "url"},
               quoted(host->to_text()) + " is denied by `network` of the same tool, as " +
                   quoted(deny.to_text()),
               "take one of the two out");
    for (const std::string& name : tool.credentials) {
      const auto credential = rules_.credentials.find(name);
      if (credential == rules_.credentials.end()) continue;
      const auto matches = [&](const HostRule& to) { return to.host.matches(*host); };
      if (std::ranges::none_of(credential->second.to, matches))
        refuse_item({"tools", tool.name, "credentials"}, name, {},
                    "the credential " + quoted(name) + " is not for " + quoted(host->to_text()) +
                        ", the only host that the tool reaches",
                    "take it out, or add the host to its `to`");
    }
  }

  [[nodiscard]] bool may_call(const Caller& caller, const Tool& tool) const {
    const auto role = rules_.roles.find(caller.role);
    if (role == rules_.roles.end()) return tool.needs.empty();
    const auto& has = role->second.permissions;
    return std::ranges::all_of(tool.needs, [&](const std::string& need) {
      return std::ranges::find(has, need) != has.end() ||
             std::ranges::find(has, "admin") != has.end();
    });
  }

  void check_approval(const Tool& tool, const ApprovalRule& approval) const {
    std::size_t approvers = 0;
    bool known = true;
    for (const std::string& role : approval.by) {
      if (!rules_.roles.contains(role)) {
        known = false;
        refuse_item({"tools", tool.name, "approval", "by"}, role, {},
                    "there is no role " + quoted(role), suggest(role, rules_.roles, "roles"));
      } else if (const auto found = callers_of_.find(role); found != callers_of_.end()) {
        approvers += found->second.size();
      }
    }
    if (!known || approval.by.empty()) return;
    // Nobody approves a call of their own.
    const bool possible = std::ranges::any_of(rules_.callers, [&](const auto& entry) {
      const Caller& caller = entry.second;
      const bool own = std::ranges::find(approval.by, caller.role) != approval.by.end();
      return may_call(caller, tool) && approvers - (own ? 1 : 0) >= approval.count;
    });
    if (possible) return;
    if (approvers < approval.count)
      return refuse({"tools", tool.name, "approval"},
                    std::to_string(approval.count) + " must approve, and only " +
                        std::to_string(approvers) + " of the callers can",
                    "give the role to more callers, or ask for fewer approvals");
    if (std::ranges::any_of(rules_.callers,
                            [&](const auto& entry) { return may_call(entry.second, tool); }))
      refuse({"tools", tool.name, "approval"},
             "nobody could approve a call: whoever may call is one of those who approve, and never "
             "approves a call of their own",
             "give the role to one more caller");
  }

  // What only one of two credentials of a tool can have, and the first one has.
  [[nodiscard]] static std::string clash_of(const Credential& first, const Credential& second) {
    if (!first.env.empty() && first.env == second.env) return "the variable " + first.env;
    const auto place = [](const Credential& credential) -> std::string {
      const bool authorises =
          credential.inject == "bearer" || credential.inject.starts_with("basic");
      return authorises ? "header:Authorization" : credential.inject;
    };
    if (first.inject.empty() || !equal_ignoring_case(place(first), place(second)) ||
        !first.methods.empty() || !first.paths.empty())
      return {};
    for (const HostRule& one : first.to)
      for (const HostRule& other : second.to)
        if (one.host == other.host && one.port == other.port)
          return "the same place in every request to " + one.host.to_text();
    return {};
  }

  void check_credentials() const {
    std::vector<std::string_view> used;
    for (const auto& [name, tool] : rules_.tools)
      used.insert(used.end(), tool.credentials.begin(), tool.credentials.end());
    std::ranges::sort(used);
    for (const auto& [name, credential] : rules_.credentials) {
      for (const HostRule& to : credential.to)
        if (const HostPattern* deny = denied_host(to.host))
          refuse_item({"credentials", name, "to"}, to.host.to_text(), to.place,
                      quoted(to.host.to_text()) + " cannot be reached: the ceiling denies " +
                          quoted(deny->to_text()),
                      "take one of the two out");
      if (!std::ranges::binary_search(used, std::string_view(name)))
        warn_at(credential.place, rule_of({"credentials", name}), "no tool uses this credential",
                "name it under `credentials` of a tool, or take it out");
    }
    check_network(rules_.defaults.network, {"defaults", "network", "allow"});
  }

  void check_tests() const {
    for (std::size_t i = 0; i < rules_.tests.size(); ++i) {
      const PolicyTest& test = rules_.tests[i];
      const std::string rule = "tests[" + std::to_string(i) + "]";
      if (!test.caller.empty() && !rules_.callers.contains(test.caller))
        refuse_at(test.caller_place, rule + ".as", "there is no caller " + quoted(test.caller),
                  suggest(test.caller, rules_.callers, "callers"));
      if (!test.tool.empty() && !rules_.tools.contains(test.tool) && test.reason != "unknown_tool")
        refuse_at(test.tool_place, rule + ".call", "there is no tool " + quoted(test.tool),
                  suggest(test.tool, rules_.tools, "tools"));
    }
  }

  const Node& root_;
  const Rules& rules_;
  Notes& notes_;
  std::map<std::string, std::vector<const Caller*>, std::less<>> callers_of_;  // by role
  std::set<std::string, std::less<>> permissions_;                             // of all roles
  mutable std::map<const Node*, std::unordered_map<std::string_view, const Node*>> indexes_;
};

}  // namespace

void check_rules(const Node& root, const Rules& rules, Notes& notes) {
  Checker(root, rules, notes).check();
}

}  // namespace sallyport
