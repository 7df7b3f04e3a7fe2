// Rules made by hand, for tests of what is built on them.
#pragma once

#include <initializer_list>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "policy/rules.h"

namespace sallyport {

inline CallRate per_minute(std::uint32_t count) {
  return {.count = count, .window = std::chrono::minutes{1}};
}

inline HostPattern host_pattern(std::string_view text) {
  return *HostPattern::parse(text);
}

inline FileRule file_rule(std::string host, std::string inside = "") {
  FileRule rule;
  rule.inside = inside.empty() ? host : std::move(inside);
  rule.host = std::move(host);
  return rule;
}

// An argv of words; "{name}" is a placeholder.
inline std::vector<Template> argv(std::initializer_list<std::string> words) {
  std::vector<Template> templates;
  for (const std::string& word : words) {
    Template element;
    if (word.starts_with('{'))
      element.pieces.push_back({.text = "", .argument = word.substr(1, word.size() - 2)});
    else
      element.pieces.push_back({.text = word, .argument = ""});
    templates.push_back(std::move(element));
  }
  return templates;
}

inline Argument argument(std::string name, std::string_view schema) {
  json::object definition = parse_json(schema)->as_object();
  return {.name = std::move(name),
          .place = {},
          .type = ArgumentType::json,
          .schema = *Schema::compile(definition),
          .definition = definition,
          .fallback = {},
          .below = {},
          .schemes = {},
          .hosts = {}};
}

inline Role& add_role(Rules& rules, std::string name, std::vector<std::string> permissions) {
  Role& role = rules.roles[name];
  role.name = name;
  role.permissions = std::move(permissions);
  return role;
}

inline Caller& add_caller(Rules& rules, std::string name, std::string role,
                          std::string tenant = "default") {
  Caller& caller = rules.callers[name];
  caller.name = name;
  caller.role = std::move(role);
  caller.tenant = std::move(tenant);
  return caller;
}

inline Tenant& add_tenant(Rules& rules, std::string name) {
  Tenant& tenant = rules.tenants[name];
  tenant.name = name;
  return tenant;
}

inline Tool& add_tool(Rules& rules, std::string name, std::vector<std::string> needs) {
  Tool& tool = rules.tools[name];
  tool = rules.defaults;
  tool.name = name;
  tool.needs = std::move(needs);
  tool.kind = ToolKind::command;
  tool.run = argv({"/usr/bin/true"});
  tool.syscalls = "default";
  return tool;
}

// One of a few values, so that levels meet at the same one often.
class RandomRules {
 public:
  explicit RandomRules(unsigned seed) : random_(seed) {}

  unsigned below(unsigned n) { return static_cast<unsigned>(random_() % n); }
  bool coin() { return below(2) == 0; }

  LimitRules limits() {
    LimitRules limits;
#define SALLYPORT_RANDOM_LIMIT(name, type, sentence) \
  if (coin()) limits.name = some(static_cast<type*>(nullptr));
    SALLYPORT_LIMITS(SALLYPORT_RANDOM_LIMIT)
#undef SALLYPORT_RANDOM_LIMIT
    return limits;
  }

  std::vector<CallRate> rates() {
    std::vector<CallRate> rates;
    for (unsigned n = below(3); n > 0; --n)
      rates.push_back({.count = 1 + below(5), .window = std::chrono::seconds{coin() ? 1 : 60}});
    return rates;
  }

  std::optional<unsigned> concurrency() {
    return coin() ? std::optional<unsigned>(1 + below(4)) : std::nullopt;
  }

  TableRules tables() {
    TableRules rules{.all_tables = below(4) == 0, .tables = {}};
    for (const char* table : {"orders", "products", "customers"}) {
      if (coin()) continue;
      for (const char* column : {"id", "name", "region"})
        if (coin()) rules.tables[table].emplace_back(column);
      rules.tables[table];  // without columns: all of them
    }
    return rules;
  }

  std::vector<std::string> permissions() {
    std::vector<std::string> list;
    for (const char* permission : {"read", "write", "execute"})
      if (coin()) list.emplace_back(permission);
    if (below(8) == 0) list.emplace_back("admin");
    return list;
  }

  Rules rules() {
    Rules rules;
    if (coin()) rules.defaults.limits = limits();
    rules.defaults.rates = rates();
    if (coin()) rules.ceiling.limits = limits();
    for (const char* name : {"r1", "r2"}) {
      Role& role = add_role(rules, name, permissions());
      role.limits = limits();
      role.rates = rates();
      if (coin()) role.tables = tables();
    }
    Tenant& tenant = add_tenant(rules, "acme");
    tenant.limits = limits();
    tenant.rates = rates();
    tenant.concurrency = concurrency();
    if (coin()) tenant.budget.calls = 1 + below(100);
    if (coin()) tenant.budget.cpu = std::chrono::minutes{1 + below(100)};
    for (const char* name : {"c1", "c2", "c3"}) {
      Caller& caller = add_caller(rules, name, coin() ? "r1" : "r2", coin() ? "acme" : "default");
      caller.limits = limits();
      caller.rates = rates();
      caller.concurrency = concurrency();
    }
    for (const char* name : {"t1", "t2"}) {
      Tool& tool = add_tool(rules, name, permissions());
      std::erase(tool.needs, "admin");
      tool.limits = limits();
      tool.rates = rates();
      tool.concurrency = concurrency();
      tool.tables = tables();
    }
    return rules;
  }

 private:
  Duration some(Duration*) { return std::chrono::seconds{1 + below(6)}; }
  ByteSize some(ByteSize*) { return {(1 + below(6)) * 4096ULL}; }
  Rate some(Rate*) { return {{(1 + below(6)) * 1000ULL}}; }
  double some(double*) { return 0.5 * (1 + below(6)); }
  unsigned some(unsigned*) { return 8 + below(6); }
  std::uint64_t some(std::uint64_t*) { return 1 + below(6); }

  std::mt19937 random_;
};

}  // namespace sallyport
