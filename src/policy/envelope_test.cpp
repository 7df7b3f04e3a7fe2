#include "policy/envelope.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "policy/limit_value.h"
#include "policy/rules_fixture.h"

namespace sallyport {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A tool that everybody may call, and one caller of a role in a tenant.
struct Shop {
  Rules rules;
  Role& role = add_role(rules, "support", {"read:data"});
  Tenant& tenant = add_tenant(rules, "acme");
  Caller& caller = add_caller(rules, "ann", "support", "acme");
  Tool& tool = add_tool(rules, "query", {"read:data"});

  [[nodiscard]] Envelope envelope() const { return make_envelope(rules, tool, caller); }
};

template <class Value>
bool no_more(const Value& a, const Value& b) {
  return a <= b;
}
bool no_more(const std::optional<Rate>& a, const std::optional<Rate>& b) {
  return !b || (a && *a <= *b);
}

bool limits_allow_no_more(const Limits& a, const Limits& b) {
#define SALLYPORT_NO_MORE(name, type, sentence) \
  if (!no_more(a.name, b.name)) return false;
  SALLYPORT_LIMITS(SALLYPORT_NO_MORE)
#undef SALLYPORT_NO_MORE
  return true;
}

bool same_limits(const Limits& a, const Limits& b) {
  return limits_allow_no_more(a, b) && limits_allow_no_more(b, a);
}

TEST(Envelope, ASilentFileGivesTheBuiltInDefaults) {
  const Shop shop;
  const Envelope envelope = shop.envelope();
  EXPECT_TRUE(same_limits(envelope.limits, Limits{}));
  EXPECT_EQ(envelope.limit_rules.at("timeout"), "built-in");
  ASSERT_EQ(envelope.rates.size(), 1U);
  EXPECT_EQ(envelope.rates[0].rate, per_minute(10));
  EXPECT_EQ(envelope.rates[0].rule, "built-in");
  EXPECT_EQ(envelope.rates[0].key, "tool/acme/query");
  EXPECT_THAT(envelope.concurrency, IsEmpty());
  EXPECT_FALSE(envelope.budget);
}

TEST(Envelope, AToolReplacesADefaultInBothDirections) {
  Shop shop;
  shop.rules.defaults.limits.timeout = 5s;
  shop.tool.limits.timeout = 30s;
  EXPECT_EQ(shop.envelope().limits.timeout, 30s);
  EXPECT_EQ(shop.envelope().limit_rules.at("timeout"), "tools.query.limits.timeout");
  shop.tool.limits.timeout = 5s;  // as the loader copies it
  EXPECT_EQ(shop.envelope().limits.timeout, 5s);
  EXPECT_EQ(shop.envelope().limit_rules.at("timeout"), "defaults.limits.timeout");
  shop.tool.limits.timeout.reset();  // a tool of the host program
  EXPECT_EQ(shop.envelope().limits.timeout, 5s);
}

TEST(Envelope, NothingWidensWhatTheToolHas) {
  Shop shop;
  shop.tool.limits.timeout = 5s;
  shop.role.limits.timeout = shop.tenant.limits.timeout = shop.caller.limits.timeout = 1h;
  shop.rules.ceiling.limits.timeout = 1h;
  EXPECT_EQ(shop.envelope().limits.timeout, 5s);
  EXPECT_EQ(shop.envelope().limit_rules.at("timeout"), "tools.query.limits.timeout");
}

TEST(Envelope, EveryLevelCanNarrowEveryLimitAndIsNamed) {
  const std::pair<std::string, std::function<LimitRules&(Shop&)>> levels[] = {
      {"ceiling", [](Shop& shop) -> LimitRules& { return shop.rules.ceiling.limits; }},
      {"tenants.acme", [](Shop& shop) -> LimitRules& { return shop.tenant.limits; }},
      {"roles.support", [](Shop& shop) -> LimitRules& { return shop.role.limits; }},
      {"callers.ann", [](Shop& shop) -> LimitRules& { return shop.caller.limits; }},
  };
  const CallLimits tiny = {
      {"timeout", "1ms"},        {"cpu", "1ms"},       {"cpus", "0.01"},
      {"memory", "1MiB"},        {"processes", "1"},   {"open_files", "8"},
      {"disk", "4KiB"},          {"inodes", "1"},      {"file_size", "1B"},
      {"max_output", "0B"},      {"max_result", "0B"}, {"max_output_hard", "1B"},
      {"refused_syscalls", "0"}, {"io", "1B/s"},
  };
  std::size_t limits = 0;
#define SALLYPORT_CHECK_LEVELS(limit, type, sentence)                              \
  for (const auto& [place, level] : levels) {                                      \
    Shop shop;                                                                     \
    ASSERT_TRUE(set_limit(level(shop), #limit, tiny.at(#limit)));                  \
    const Envelope envelope = shop.envelope();                                     \
    EXPECT_EQ(envelope.limits.limit, level(shop).limit) << place << " " << #limit; \
    EXPECT_EQ(envelope.limit_rules.at(#limit), place + ".limits." + #limit);       \
  }                                                                                \
  ++limits;
  SALLYPORT_LIMITS(SALLYPORT_CHECK_LEVELS)
#undef SALLYPORT_CHECK_LEVELS
  EXPECT_EQ(limits, tiny.size());
}

TEST(Envelope, NoMoreOutputComesBackThanMayBeWritten) {
  Shop shop;
  shop.tool.limits.max_output = 1_MB;
  shop.caller.limits.max_output_hard = 5_kB;
  EXPECT_EQ(shop.envelope().limits.max_output, 5_kB);
  EXPECT_EQ(shop.envelope().limit_rules.at("max_output"), "callers.ann.limits.max_output_hard");
}

TEST(Envelope, RatesAreCountedWhereTheyBelong) {
  Shop shop;
  shop.caller.rates = {per_minute(60), {.count = 1000, .window = 1h}};
  shop.role.rates = {per_minute(30)};
  shop.tool.rates = {per_minute(5)};
  shop.tenant.rates = {per_minute(600)};
  std::vector<std::string> found;
  for (const RateRule& rule : shop.envelope().rates)
    found.push_back(rule.key + " " + rule.rule + " " + to_text(rule.rate));
  EXPECT_THAT(
      found, ElementsAre("caller/ann callers.ann.rate 60/min", "caller/ann callers.ann.rate 1000/h",
                         "role/support/caller/ann roles.support.rate 30/min",
                         "tool/acme/query tools.query.rate 5/min",
                         "tenant/acme tenants.acme.rate 600/min"));
}

TEST(Envelope, TwoTenantsDoNotShareTheCountOfATool) {
  Shop shop;
  const Caller& other = add_caller(shop.rules, "bob", "support", "beta");
  const Envelope theirs = make_envelope(shop.rules, shop.tool, other);
  ASSERT_EQ(theirs.rates.size(), 1U);
  EXPECT_NE(theirs.rates[0].key, shop.envelope().rates[0].key);
  EXPECT_EQ(theirs.tenant, nullptr) << "the file does not describe it";
}

TEST(Envelope, ConcurrencyAndBudgetNameTheirRules) {
  Shop shop;
  shop.caller.concurrency = 2;
  shop.tool.concurrency = 3;
  shop.tenant.concurrency = 16;
  shop.tenant.budget.cpu = 2h;
  std::vector<std::string> found;
  const Envelope envelope = shop.envelope();
  for (const ConcurrencyRule& rule : envelope.concurrency)
    found.push_back(rule.key + " " + rule.rule + " " + std::to_string(rule.most));
  EXPECT_THAT(found, ElementsAre("caller/ann callers.ann.concurrency 2",
                                 "tool/acme/query tools.query.concurrency 3",
                                 "tenant/acme tenants.acme.concurrency 16"));
  ASSERT_TRUE(envelope.budget);
  EXPECT_EQ(envelope.budget->key, "tenant/acme");
  EXPECT_EQ(envelope.budget->rule, "tenants.acme.budget");
}

TEST(Envelope, ListsWhatIsMissingAndAdminLacksNothing) {
  Shop shop;
  shop.tool.needs = {"write:data", "read:data", "delete:data"};
  EXPECT_THAT(shop.envelope().missing, ElementsAre("delete:data", "write:data"));
  shop.role.permissions = {"admin"};
  EXPECT_THAT(shop.envelope().missing, IsEmpty());
  shop.caller.role = "nobody";
  EXPECT_THAT(shop.envelope().missing, ElementsAre("delete:data", "read:data", "write:data"));
}

TEST(Envelope, APermissionIsHeldWholeAndNotByPrefix) {
  Shop shop;
  shop.role.permissions = {"read", "read:data:all", "administrator", "Admin"};
  EXPECT_THAT(shop.envelope().missing, ElementsAre("read:data"));
}

TEST(Envelope, TablesAreThoseThatToolAndRoleBothAllow) {
  Shop shop;
  shop.tool.tables.tables = {{"orders", {}}, {"customers", {"id", "region"}}, {"products", {}}};
  shop.role.tables = TableRules{.all_tables = false,
                                .tables = {{"orders", {"id"}}, {"customers", {"region", "iban"}}}};
  const TableRules tables = shop.envelope().tables;
  EXPECT_FALSE(tables.all_tables);
  EXPECT_THAT(tables.tables, ElementsAre(testing::Pair("customers", ElementsAre("region")),
                                         testing::Pair("orders", ElementsAre("id"))));
}

// "*" of one side must not stand for a table that the other side has in another spelling.
TEST(Envelope, TablesAreTheSameInCapitalLetters) {
  Shop shop;
  shop.tool.tables = {.all_tables = true, .tables = {{"Customers", {"ID"}}}};
  shop.role.tables = TableRules{.all_tables = false, .tables = {{"customers", {}}, {"x", {}}}};
  const TableRules tables = shop.envelope().tables;
  EXPECT_THAT(tables.tables, ElementsAre(testing::Pair("Customers", ElementsAre("ID")),
                                         testing::Pair("x", IsEmpty())));
  shop.role.tables = TableRules{.all_tables = false, .tables = {{"customers", {"id"}}}};
  EXPECT_THAT(shop.envelope().tables.tables,
              ElementsAre(testing::Pair("Customers", ElementsAre("ID"))));
}

TEST(Envelope, ColumnsWithoutACommonOneAreNoTableAndNotAllOfThem) {
  Shop shop;
  shop.tool.tables = {.all_tables = true, .tables = {{"customers", {"id"}}}};
  shop.role.tables = TableRules{.all_tables = true, .tables = {{"customers", {"iban"}}}};
  const TableRules tables = shop.envelope().tables;
  EXPECT_FALSE(tables.all_tables);
  EXPECT_THAT(tables.tables, IsEmpty());
}

TEST(Envelope, TheHashIsOfWhatTheRulesSayAndNotOfWhereTheyStand) {
  Shop shop;
  const std::string before = shop.envelope().hash;
  EXPECT_EQ(before.size(), 64U);
  shop.tool.place = {.line = 7, .column = 3};
  EXPECT_EQ(shop.envelope().hash, before);
  shop.rules.ceiling.deny_files.push_back({"/etc/shadow", *Glob::parse("etc/shadow")});
  EXPECT_NE(shop.envelope().hash, before);
}

TEST(Envelope, TheHashChangesWithEveryRuleOfTheTool) {
  const std::function<void(Tool&)> changes[] = {
      [](Tool& tool) { tool.description = "x"; },
      [](Tool& tool) { tool.needs.clear(); },
      [](Tool& tool) { tool.tier = Tier::vm; },
      [](Tool& tool) { tool.kind = ToolKind::function; },
      [](Tool& tool) { tool.run = argv({"/usr/bin/false"}); },
      [](Tool& tool) { tool.run = argv({"/usr/bin/true", "{x}"}); },
      [](Tool& tool) { tool.args.push_back(argument("x", R"({"type": "string"})")); },
      [](Tool& tool) { tool.input_json = true; },
      [](Tool& tool) { tool.result_json = true; },
      [](Tool& tool) { tool.collect = {"*.pdf"}; },
      [](Tool& tool) { tool.environment["A"] = "b"; },
      [](Tool& tool) { tool.files.read.push_back(file_rule("/srv")); },
      [](Tool& tool) { tool.files.write.push_back(file_rule("/srv")); },
      [](Tool& tool) { tool.files.write_mode = WriteMode::copy; },
      [](Tool& tool) { tool.network.allow.push_back({.host = host_pattern("a.example")}); },
      [](Tool& tool) { tool.network.deny.push_back(host_pattern("a.example")); },
      [](Tool& tool) { tool.network.requests = 1; },
      [](Tool& tool) { tool.network.time = std::chrono::seconds(1); },
      [](Tool& tool) { tool.share_network = true; },
      [](Tool& tool) { tool.syscalls = "build"; },
      [](Tool& tool) { tool.require = {"cgroup"}; },
      [](Tool& tool) { tool.prefer = {"cgroup"}; },
      [](Tool& tool) { tool.screen["*"] = ScreenAction::block; },
      [](Tool& tool) { tool.warm = true; },
      [](Tool& tool) { tool.preload = {"numpy"}; },
      [](Tool& tool) { tool.irreversible = true; },
      [](Tool& tool) { tool.approval.emplace(); },
      [](Tool& tool) { tool.credentials = {"payments"}; },
      [](Tool& tool) { tool.output.redact = {"secrets"}; },
      [](Tool& tool) { tool.output.patterns = {"[0-9]+"}; },
      [](Tool& tool) { tool.output.injection = "mark"; },
      [](Tool& tool) { tool.database = "sqlite:/x"; },
      [](Tool& tool) { tool.tables.all_tables = true; },
      [](Tool& tool) { tool.rows = 1; },
      [](Tool& tool) { tool.commands.allow = {{"ls"}}; },
      [](Tool& tool) { tool.commands.refuse_flags["git"] = {"-c"}; },
      [](Tool& tool) { tool.limits.memory = 1_MiB; },
      [](Tool& tool) { tool.rates = {per_minute(1)}; },
      [](Tool& tool) { tool.concurrency = 1; },
  };
  const std::string before = Shop().envelope().hash;
  std::vector<std::string> hashes = {before};
  for (const auto& change : changes) {
    Shop shop;
    change(shop.tool);
    hashes.push_back(shop.envelope().hash);
  }
  std::ranges::sort(hashes);
  EXPECT_EQ(std::ranges::adjacent_find(hashes), hashes.end());
}

TEST(Envelope, TheHashIsEqualExactlyWhenTheJsonIs) {
  RandomRules random(7);
  for (int i = 0; i < 200; ++i) {
    const Rules one = random.rules(), two = random.coin() ? one : random.rules();
    const Envelope a = make_envelope(one, one.tools.at("t1"), one.callers.at("c1"));
    const Envelope b = make_envelope(two, two.tools.at("t1"), two.callers.at("c1"));
    EXPECT_EQ(a.hash == b.hash, canonical_json(to_json(a)) == canonical_json(to_json(b)));
  }
}

// --- a call can only tighten ------------------------------------------------------------------

TEST(Tighten, TakesTighterLimitsAndLeavesTheOthers) {
  const Envelope envelope = Shop().envelope();
  const auto limits = tighten(envelope, {{"timeout", "5s"}, {"io", "1MB/s"}, {"cpus", "0.5"}});
  ASSERT_TRUE(limits);
  EXPECT_EQ(limits->timeout, 5s);
  EXPECT_EQ(limits->io, (Rate{1_MB}));
  EXPECT_EQ(limits->cpus, 0.5);
  EXPECT_EQ(limits->memory, Limits{}.memory);
  EXPECT_TRUE(tighten(envelope, {{"timeout", "10s"}})) << "the same is not wider";
}

TEST(Tighten, AWiderLimitIsRefusedAndTheRuleNamed) {
  Shop shop;
  shop.role.limits.timeout = 5s;
  const auto limits = tighten(shop.envelope(), {{"timeout", "6s"}});
  ASSERT_FALSE(limits);
  EXPECT_EQ(limits.error().reason, Reason::argument);
  EXPECT_THAT(limits.error().message, AllOf(HasSubstr("timeout"), HasSubstr("6s"), HasSubstr("5s"),
                                            HasSubstr("roles.support.limits.timeout")));
  EXPECT_THAT(limits.error().hint, HasSubstr("5s"));
}

TEST(Tighten, RefusesWhatIsNoLimitNoValueOrNoLimitAtAll) {
  const Envelope envelope = Shop().envelope();
  const auto refused = [&](const char* name, const char* text) {
    const auto limits = tighten(envelope, {{name, text}});
    return !limits && limits.error().reason == Reason::argument;
  };
  EXPECT_TRUE(refused("timeuot", "5s"));
  EXPECT_TRUE(refused("", "5s"));
  EXPECT_TRUE(refused("timeout", ""));
  EXPECT_TRUE(refused("timeout", "5"));
  EXPECT_TRUE(refused("timeout", "-5s"));
  EXPECT_TRUE(refused("timeout", "0s"));
  EXPECT_TRUE(refused("memory", "1M"));
  EXPECT_TRUE(refused("memory", "0B"));
  EXPECT_TRUE(refused("io", "0B/s")) << "a kernel takes it for unlimited";
  EXPECT_TRUE(refused("cpus", "0"));
  EXPECT_TRUE(refused("cpus", "nan"));
  EXPECT_TRUE(refused("cpus", "inf"));
  EXPECT_TRUE(refused("cpus", "-1"));
  EXPECT_TRUE(refused("processes", "-1"));
  EXPECT_TRUE(refused("processes", "0"));
  EXPECT_TRUE(refused("processes", "4294967297")) << "1, if it wrapped";
  EXPECT_TRUE(refused("inodes", "18446744073709551617"));
  EXPECT_THAT(tighten(envelope, {{"timeuot", "5s"}}).error().hint, HasSubstr("timeout"));
}

// --- properties over random rules -------------------------------------------------------------

// The strictest of everything but built-in and defaults, worked out the plain way.
TEST(EnvelopeProperty, TheStrictestRuleWinsWhateverTheOrder) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    RandomRules random(seed);
    Rules rules = random.rules();
    const Tool& tool = rules.tools.at("t1");
    Caller& caller = rules.callers.at("c1");
    caller.tenant = "acme";
    Role& role = rules.roles.at(caller.role);
    Tenant& tenant = rules.tenants.at("acme");
    const Limits first = make_envelope(rules, tool, caller).limits;

    LimitRules* levels[] = {&rules.ceiling.limits, &tenant.limits, &role.limits, &caller.limits};
    const LimitRules values[] = {*levels[0], *levels[1], *levels[2], *levels[3]};
    int order[] = {0, 1, 2, 3};
    do {
      for (std::size_t i = 0; i < 4; ++i)
        *levels[i] = values[order[i]];
      const Limits limits = make_envelope(rules, tool, caller).limits;
      ASSERT_TRUE(same_limits(limits, first)) << "seed " << seed;
      for (const LimitRules& level : values) {
#define SALLYPORT_IS_HELD(name, type, sentence) \
  ASSERT_TRUE(!level.name || (limits.name <= *level.name)) << #name << " seed " << seed;
        SALLYPORT_LIMITS(SALLYPORT_IS_HELD)
#undef SALLYPORT_IS_HELD
      }
    } while (std::ranges::next_permutation(order).found);
  }
}

bool columns_allow_no_more(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  return b.empty() || (!a.empty() && std::ranges::all_of(a, [&](const std::string& column) {
           return std::ranges::find(b, column) != b.end();
         }));
}

bool tables_allow_no_more(const TableRules& a, const TableRules& b) {
  if (a.all_tables && !b.all_tables) return false;
  for (const auto& [table, columns] : a.tables) {
    const auto found = b.tables.find(table);
    if (found == b.tables.end() ? !b.all_tables : !columns_allow_no_more(columns, found->second))
      return false;
  }
  // What b narrows below its "*" must not be wide open in a.
  for (const auto& [table, columns] : b.tables)
    if (a.all_tables && !a.tables.contains(table) && !columns.empty()) return false;
  return true;
}

// Every call that the rates of `b` refuse is refused by those of `a`.
bool rates_allow_no_more(const std::vector<RateRule>& a, const std::vector<RateRule>& b) {
  return std::ranges::all_of(b, [&](const RateRule& held) {
    return std::ranges::any_of(a, [&](const RateRule& rule) {
      return rule.key == held.key && rule.rate.window == held.rate.window &&
             rule.rate.count <= held.rate.count;
    });
  });
}

bool concurrency_allows_no_more(const Envelope& a, const Envelope& b) {
  return std::ranges::all_of(b.concurrency, [&](const ConcurrencyRule& held) {
    return std::ranges::any_of(a.concurrency, [&](const ConcurrencyRule& rule) {
      return rule.key == held.key && rule.most <= held.most;
    });
  });
}

bool budget_allows_no_more(const Envelope& a, const Envelope& b) {
  if (!b.budget) return true;
  const auto held = [](const auto& x, const auto& y) { return !y || (x && *x <= *y); };
  return a.budget && held(a.budget->budget.cpu, b.budget->budget.cpu) &&
         held(a.budget->budget.calls, b.budget->budget.calls);
}

// Makes one thing of the rules stricter, somewhere.
void tighten_one_thing(RandomRules& random, Rules& rules) {
  Role& role = rules.roles.at(random.coin() ? "r1" : "r2");
  Caller& caller = rules.callers.at(random.coin() ? "c1" : "c2");
  Tool& tool = rules.tools.at(random.coin() ? "t1" : "t2");
  Tenant& tenant = rules.tenants.at("acme");
  LimitRules* const levels[] = {&role.limits, &caller.limits, &tenant.limits,
                                &rules.ceiling.limits};
  std::vector<CallRate>* const rates[] = {&role.rates, &caller.rates, &tenant.rates};
  switch (random.below(10)) {
    case 0: {
      LimitRules& limits = *levels[random.below(4)];
      limits.timeout = std::min(limits.timeout.value_or(1h), Duration{2s});
      break;
    }
    case 1: {
      LimitRules& limits = *levels[random.below(4)];
      limits.max_output_hard = std::min(limits.max_output_hard.value_or(1_GB), 5_kB);
      break;
    }
    case 2: {
      LimitRules& limits = *levels[random.below(4)];
      limits.io = std::min(limits.io.value_or(Rate{1_GB}), Rate{2_kB});
      break;
    }
    case 3:
      tool.limits.memory = std::min(tool.limits.memory.value_or(1_MiB), 4_KiB);
      break;
    case 4:
      if (!role.permissions.empty()) role.permissions.pop_back();
      break;
    case 5:
      tool.needs.emplace_back("another");
      break;
    case 6: {
      std::vector<CallRate>& some = *rates[random.below(3)];
      if (some.empty()) some.push_back(per_minute(3));
      for (CallRate& rate : some)
        rate.count = std::max(rate.count / 2, 1U);
      break;
    }
    case 7:
      caller.concurrency = 1;
      tenant.concurrency = 1;
      tenant.budget.calls = 1;
      break;
    case 8:
      // Beside "*", a table that is taken off the list would be wide open.
      if (!tool.tables.all_tables && !tool.tables.tables.empty())
        tool.tables.tables.erase(tool.tables.tables.begin());
      else
        tool.tables.all_tables = false;
      break;
    case 9:
      if (!role.tables) role.tables = TableRules{.all_tables = false, .tables = {{"orders", {}}}};
      for (auto& [table, columns] : role.tables->tables)
        if (columns.size() > 1) columns.pop_back();
      break;
  }
}

TEST(EnvelopeProperty, ATightenedPolicyNeverAllowsMore) {
  for (unsigned seed = 0; seed < 800; ++seed) {
    RandomRules random(seed);
    const Rules before = random.rules();
    Rules after = before;
    tighten_one_thing(random, after);
    for (const auto& [tool_name, tool] : after.tools) {
      for (const auto& [caller_name, caller] : after.callers) {
        const Envelope old_one =
            make_envelope(before, before.tools.at(tool_name), before.callers.at(caller_name));
        const Envelope new_one = make_envelope(after, tool, caller);
        ASSERT_TRUE(std::ranges::includes(new_one.missing, old_one.missing)) << "seed " << seed;
        ASSERT_TRUE(limits_allow_no_more(new_one.limits, old_one.limits)) << "seed " << seed;
        ASSERT_TRUE(tables_allow_no_more(new_one.tables, old_one.tables)) << "seed " << seed;
        ASSERT_TRUE(rates_allow_no_more(new_one.rates, old_one.rates)) << "seed " << seed;
        ASSERT_TRUE(concurrency_allows_no_more(new_one, old_one)) << "seed " << seed;
        ASSERT_TRUE(budget_allows_no_more(new_one, old_one)) << "seed " << seed;
      }
    }
  }
}

TEST(EnvelopeProperty, ACallNeverGetsMoreThanItsEnvelope) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    RandomRules random(seed);
    const Rules rules = random.rules();
    const Envelope envelope = make_envelope(rules, rules.tools.at("t1"), rules.callers.at("c1"));
    const CallLimits asked = {{"timeout", std::to_string(1 + random.below(8)) + "s"},
                              {"memory", std::to_string(1 + random.below(3)) + "MiB"},
                              {"max_output_hard", std::to_string(1 + random.below(40)) + "kB"},
                              {"io", std::to_string(1 + random.below(8)) + "kB/s"}};
    for (const auto& [name, text] : asked) {
      const auto limits = tighten(envelope, {{name, text}});
      if (limits) ASSERT_TRUE(limits_allow_no_more(*limits, envelope.limits)) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace sallyport
