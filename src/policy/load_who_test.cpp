#include "policy/problem_rows.h"
#include "policy/rules.h"

namespace sallyport {
namespace {

TEST(PolicySections, MistakesAboutCallersAndTheRestAreNamed) {
  constexpr ProblemRow kRows[] = {
      {kVersion "roles:\n  a: [read: data]\n",
       "f:3:7: roles.a[0]: a text is wanted here, and this is a mapping (write read:data without "
       "the space)"},
      {kVersion "roles:\n  a:\n    - read: data\n",
       "f:4:7: roles.a[0]: a text is wanted here, and this is a mapping (write read:data without "
       "the space)"},
      {kVersion "roles:\n  a: read:data\n",
       "f:3:6: roles.a: a list of permissions is wanted here, and this is a single value (write "
       "[read:data])"},
      {kVersion "roles:\n  a: [yes]\n",
       R"(f:3:7: roles.a[0]: a text is wanted here, and the bare 'yes' is a truth value to some readers of YAML (quote this: "yes"))"},
      {kVersion "roles:\n  yes: [a]\n",
       R"(f:3:3: roles.yes: the bare key 'yes' is no text to some readers of YAML (quote this: "yes"))"},
      {kVersion "lockout: {after: 10, within: 5min, for: 1min}\n",
       "f:2:18: lockout.after: '10' is not a number of denials (write a number from 1 to 100000 "
       "and the word, such as '10 denials')"},
      {kVersion "lockout: {after: 10 denials, within: 5min}\n",
       "f:2:10: lockout.for: the key 'for' is missing (it says: How long it is locked out.)"},
      {kVersion "lockout: {after: 10 denials, within: 5min, for: 1min, by: []}\n",
       "f:2:59: lockout.by: the list is empty, and so nobody would ever be locked out (write "
       "[caller, address], or leave `lockout` out)"},
      {kVersion "credentials: {c: {from: hunter2, inject: bearer, to: [a.b]}}\n",
       R"(f:2:25: credentials.c.from: this does not say where the secret comes from (write "file:/PATH", "env:NAME", "command:/PATH WORD" or "vault:PATH#FIELD"; the secret itself is never in the file))"},
      {kVersion "audit: {price: {cpu_hour: -1}}\n",
       "f:2:27: audit.price.cpu_hour: a number is wanted here, and this is '-1' (write a number "
       "from 0 in plain digits, such as 0.05)"},
      {kVersion "audit:\n  price:\n    call: 1\n    cpu_hours: 0.05\n",
       "f:5:5: audit.price.cpu_hours: there is no key 'cpu_hours' here (did you mean "
       "'cpu_hour'?)"},
      {kVersion "audit: {price: {gpu_day: 1}}\n",
       "f:2:17: audit.price.gpu_day: there is no key 'gpu_day' here (the keys here are call, "
       "cpu_hour, wall_hour, memory_gib_hour, output_gb)"},
      {kVersion "tenants: {a: {budget: {cpu: 2h}}}\n",
       "f:2:29: tenants.a.budget.cpu: '2h' does not say that it is for one day (write 2h/day)"},
      {kVersion "tenants: {a: {budget: {egress: 1GB/h}}}\n",
       "f:2:32: tenants.a.budget.egress: '1GB/h' does not say that it is for one day (write it for "
       "one day, such as 2h/day or 1GiB/day)"},
      {kVersion "tenants: {a: {concurrency: 0}}\n",
       "f:2:28: tenants.a.concurrency: '0' is out of range (write a whole number from 1 to "
       "1000000)"},
      {kVersion "roles: {r: [a:b:c]}\n",
       "f:2:13: roles.r[0]: 'a:b:c' is not of the form VERB:OBJECT (write it as VERB:OBJECT or one "
       "word, such as read:data: letters, digits, '_', '-' and '.')"},
      {kVersion "roles: {r: [a, a]}\n", "f:2:16: roles.r[1]: 'a' is listed twice (list each once)"},
      {kVersion R"(roles: {"1a": [x]})"
                "\n",
       "f:2:9: roles.1a: '1a' does not begin with a letter or '_' (write letters, digits, '_' and "
       "'-', at most 64, beginning with a letter or '_')"},
      {kVersion R"(credentials: {c: {from: "env:X", to: [a.b]}})"
                "\n",
       "f:2:18: credentials.c: the credential says neither how it is sent nor where the tool finds "
       "it (write inject: bearer, or env: NAME)"},
      {kVersion "credentials: {c: {from: \"env:X\", env: LD_PRELOAD, to: [a.b]}}\n",
       "f:2:39: credentials.c.env: 'LD_PRELOAD' is a variable that the cell itself needs (write "
       "the "
       "one in which the tool looks for its key)"},
      {kVersion "credentials: {c: {from: \"env:X\", env: https_proxy, to: [a.b]}}\n",
       "f:2:39: credentials.c.env: 'https_proxy' is a variable that the cell itself needs (write "
       "the one in which the tool looks for its key)"},
      {kVersion "credentials: {c: {from: \"env:X\", inject: \"header:Range\", to: [a.b]}}\n",
       "f:2:42: credentials.c.inject: 'header:Range' is not a way to send a secret (write bearer, "
       "basic, basic:USER, header:NAME, query:NAME, or password for postgres)"},
      {kVersion
       "credentials: {c: {from: \"env:X\", inject: \"header:Proxy-Authorization\", to: [a.b]}}\n",
       "f:2:42: credentials.c.inject: 'header:Proxy-Authorization' is not a way to send a secret "
       "(write bearer, basic, basic:USER, header:NAME, query:NAME, or password for postgres)"},
  };
  expect_problems(kRows);
}

TEST(PolicySections, APriceIsOfAUnitThatIsCounted) {
  const auto policy = Policy::parse(kVersion
                                    "audit: {price: {call: 1, cpu_hour: 0.5, wall_hour: 2, "
                                    "memory_gib_hour: 3, output_gb: 4}}\n");
  ASSERT_TRUE(policy);
  EXPECT_EQ(policy->rules().audit.price, (std::map<std::string, double>{{"call", 1},
                                                                        {"cpu_hour", 0.5},
                                                                        {"wall_hour", 2},
                                                                        {"memory_gib_hour", 3},
                                                                        {"output_gb", 4}}));
}

TEST(PolicySections, ARoleIsAListOrAMapping) {
  const auto policy = Policy::parse(kVersion R"(
roles:
  viewer: [read:data]
  support: { permissions: [read:data], rate: [30/min, 100/h], limits: { timeout: 5s }, tables: [orders] }
callers:
  vera: { role: viewer }
  sam: { role: support, tenant: acme, concurrency: 2 }
tenants: { acme: { budget: { cpu: 2h/day, egress: 1GiB/day, calls: 100/day } } }
lockout: { after: 3 denials, within: 1min, for: 1h, by: [address] }
)");
  ASSERT_TRUE(policy) << to_text(policy.error()[0]);
  const Rules& rules = policy->rules();
  EXPECT_EQ(rules.roles.at("viewer").permissions, (std::vector<std::string>{"read:data"}));
  const Role& support = rules.roles.at("support");
  ASSERT_EQ(support.rates.size(), 2u);
  EXPECT_EQ(to_text(support.rates[1]), "100/h");
  EXPECT_EQ(*support.limits.timeout, std::chrono::seconds{5});
  EXPECT_TRUE(support.tables->tables.contains("orders"));
  EXPECT_EQ(rules.callers.at("vera").tenant, "default");
  EXPECT_EQ(rules.callers.at("sam").tenant, "acme");
  EXPECT_EQ(*rules.callers.at("sam").concurrency, 2u);
  const DailyBudget& budget = rules.tenants.at("acme").budget;
  EXPECT_EQ(*budget.cpu, std::chrono::hours{2});
  EXPECT_EQ(*budget.egress, 1_GiB);
  EXPECT_EQ(*budget.calls, 100u);
  EXPECT_EQ(rules.lockout->after, 3u);
  EXPECT_EQ(rules.lockout->lasts, std::chrono::hours{1});
  EXPECT_FALSE(rules.lockout->by_caller);
  EXPECT_TRUE(rules.lockout->by_address);
}

}  // namespace
}  // namespace sallyport
