#include <gmock/gmock.h>

#include "policy/problem_rows.h"
#include "policy/rules.h"

namespace sallyport {
namespace {

using testing::ElementsAre;

TEST(PolicyPool, HasDefaults) {
  const auto policy = Policy::parse(kVersion);
  ASSERT_TRUE(policy) << to_text(policy.error()[0]);
  EXPECT_EQ(policy->rules().pool, PoolRules{});
  EXPECT_EQ(PoolRules{}.max, 32U) << "as the reference says";
}

TEST(PolicyPool, IsReadFromItsSection) {
  const auto policy = Policy::parse(kVersion "pool: {min: 2, max: 8, memory: 64MiB, idle: 5min}\n");
  ASSERT_TRUE(policy) << to_text(policy.error()[0]);
  EXPECT_EQ(policy->rules().pool,
            (PoolRules{.min = 2, .max = 8, .memory = 64_MiB, .idle = std::chrono::minutes{5}}));
  const auto none = Policy::parse(kVersion "pool: {max: 0}\n");
  ASSERT_TRUE(none) << to_text(none.error()[0]);
  EXPECT_EQ(none->rules().pool.max, 0U);
}

TEST(PolicyPool, MistakesAreNamed) {
  constexpr ProblemRow kRows[] = {
      {kVersion "pool: {min: 3, max: 2}\n",
       "f:2:7: pool: `min` is greater than `max` (write a `max` of 3)"},
      {kVersion "pool: {min: 33}\n",
       "f:2:7: pool: `min` is greater than `max` (write a `max` of 33)"},
      {kVersion "pool: {max: 4097}\n",
       "f:2:13: pool.max: '4097' is out of range (write a whole number from 0 to 4096)"},
      {kVersion "pool: {max: -1}\n",
       "f:2:13: pool.max: '-1' is out of range (write a whole number from 0 to 4096)"},
      {kVersion "pool: {size: 3}\n",
       "f:2:8: pool.size: there is no key 'size' here (the keys here are min, max, memory, idle)"},
      {kVersion "pool: {idle: 60}\n", "f:2:14: pool.idle:"},
      {kVersion "pool: {memory: lots}\n", "f:2:16: pool.memory:"},
      {kVersion "pool: 3\n", "f:2:7: pool: a mapping is wanted here"},
      {kVersion "tools: {t: {use: run_python, needs: [], warm: true, preload: [\"a b\"]}}\n",
       "f:2:63: tools.t.preload[0]: 'a b' is no module of Python (write a name such as numpy or "
       "xml.dom)"},
      {kVersion "tools: {t: {use: run_python, needs: [], warm: true, preload: [.a]}}\n",
       "f:2:63: tools.t.preload[0]: '.a' is no module of Python"},
      {kVersion "tools: {t: {use: run_python, needs: [], warm: true, preload: [a.]}}\n",
       "f:2:63: tools.t.preload[0]: 'a.' is no module of Python"},
      {kVersion "tools: {t: {use: run_python, needs: [], warm: true, preload: [../x]}}\n",
       "f:2:63: tools.t.preload[0]: '../x' is no module of Python"},
      {kVersion "tools: {t: {use: run_python, needs: [], warm: true, preload: [-m]}}\n",
       "f:2:63: tools.t.preload[0]: '-m' is no module of Python"},
      {kVersion "tools: {t: {use: run_python, needs: [], warm: false, preload: [json]}}\n",
       "f:2:12: tools.t.preload: there is nothing to preload into without `warm`"},
      {kVersion "tools: {t: {use: run_javascript, needs: [], warm: true, preload: [fs]}}\n",
       "f:2:66: tools.t.preload: 'preload' means nothing to this tool"},
  };
  expect_problems(kRows);
}

TEST(PolicyPool, ModulesOfAToolAreReadInTheirOrder) {
  const auto policy = Policy::parse(
      kVersion
      "tools: {t: {use: run_python, needs: [], warm: true, preload: [xml.dom, json, _a1]}}\n");
  ASSERT_TRUE(policy) << to_text(policy.error()[0]);
  EXPECT_THAT(policy->rules().tools.at("t").preload, ElementsAre("xml.dom", "json", "_a1"));
}

}  // namespace
}  // namespace sallyport
