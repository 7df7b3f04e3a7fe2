#include "kernel/seccomp_compile.h"

#include <gtest/gtest.h>

#include <random>

#include "kernel/seccomp_evaluate.h"
#include "kernel/seccomp_make_call.h"
#include "kernel/seccomp_policy_from_bytes.h"

namespace sallyport {
namespace {

using seccomp::allow;
using seccomp::arg;
using seccomp::pretend;
using seccomp::refuse;
using seccomp::Rule;
using seccomp::when;

SeccompPolicy make_policy(std::vector<PolicyLine> lines) {
  return std::move(SeccompPolicy::make(std::move(lines)).value());
}

// Holds for the ends of the table and for every named number and its neighbours; between those the
// program cannot tell numbers apart.
void expect_same_as_policy(const SeccompPolicy& policy, std::uint64_t first = 0,
                           std::uint64_t second = 0) {
  const auto program = compile(policy);
  ASSERT_TRUE(program) << program.error().message;
  const auto named = [&](int number) { return policy.find(number) != nullptr; };
  for (int number = -2; number <= SeccompPolicy::kCallLimit + 1; ++number) {
    const bool end = number <= 0 || number >= SeccompPolicy::kCallLimit;
    if (!end && !named(number - 1) && !named(number) && !named(number + 1)) continue;
    const seccomp_data call = make_call(number, {first, second});
    const auto action = evaluate(*program, call);
    ASSERT_TRUE(action) << action.error().message;
    ASSERT_EQ(*action, action_of(policy.decide(call))) << "call " << number;
  }
}

TEST(SeccompCompile, GivesEachVerdictItsAction) {
  EXPECT_EQ(action_of(allow()), SECCOMP_RET_ALLOW);
  EXPECT_EQ(action_of(pretend(ENOSYS)), SECCOMP_RET_ERRNO | ENOSYS);
  EXPECT_EQ(action_of(refuse(EPERM)), SECCOMP_RET_USER_NOTIF);
}

TEST(SeccompCompile, NotifiesOfEveryCallWhenThePolicyNamesNone) {
  expect_same_as_policy(make_policy({}));
}

TEST(SeccompCompile, FindsTheFirstAndTheLastNumberOfTheTable) {
  expect_same_as_policy(
      make_policy({{0, allow()}, {SeccompPolicy::kCallLimit - 1, pretend(EPERM)}}));
}

TEST(SeccompCompile, NotifiesOfForeignArchitecturesAndX32Numbers) {
  const auto program = compile(make_policy({{20, allow()}}));
  ASSERT_TRUE(program);
  EXPECT_EQ(evaluate(*program, make_call(20)), SECCOMP_RET_ALLOW);
  EXPECT_EQ(evaluate(*program, make_call(20, {}, AUDIT_ARCH_I386)), SECCOMP_RET_USER_NOTIF);
  EXPECT_EQ(evaluate(*program, make_call(0x4000'0000 | 20)), SECCOMP_RET_USER_NOTIF);
}

TEST(SeccompCompile, ComparesBothHalvesOfARegisterOrOnlyTheLowerOne) {
  const SeccompPolicy policy =
      make_policy({{1, when(arg(0).is(7), allow()).otherwise(refuse(1))},
                   {2, when(arg(0).low32().is(7), allow()).otherwise(refuse(1))}});
  const auto program = compile(policy);
  ASSERT_TRUE(program);
  const std::uint64_t dressed_up = 7 | std::uint64_t{1} << 32;
  EXPECT_EQ(evaluate(*program, make_call(1, {7})), SECCOMP_RET_ALLOW);
  EXPECT_EQ(evaluate(*program, make_call(1, {dressed_up})), SECCOMP_RET_USER_NOTIF);
  EXPECT_EQ(evaluate(*program, make_call(2, {dressed_up})), SECCOMP_RET_ALLOW);
  EXPECT_EQ(evaluate(*program, make_call(2, {8})), SECCOMP_RET_USER_NOTIF);
}

// Every second number allowed: the search itself is longer than a conditional jump reaches.
TEST(SeccompCompile, SearchesFurtherThanAConditionalJumpReaches) {
  std::vector<PolicyLine> lines;
  for (int number = 0; number < SeccompPolicy::kCallLimit; number += 2)
    lines.emplace_back(number, allow());
  expect_same_as_policy(make_policy(std::move(lines)));
}

// One comparison after the other with more and more values, over every distance around 255.
TEST(SeccompCompile, JumpsOverAnyNumberOfValues) {
  for (std::size_t size = 248; size <= 260; ++size) {
    Rule rule = refuse(EPERM);
    seccomp::Comparison many{0, ~std::uint64_t{0} >> 32, {}};
    for (std::size_t value = 0; value < size; ++value)
      many.values.push_back(value);
    rule.clauses.push_back({{many, {1, 0xffff'ffff, {5}}}, allow()});
    rule.clauses.push_back({{{1, 0xffff'ffff, {6}}, many}, pretend(ENOSYS)});
    const SeccompPolicy policy = make_policy({{1, allow()}, {3, rule}, {9, allow()}});
    for (const std::uint64_t first : {std::size_t{0}, size / 2, size - 1, size}) {
      for (const std::uint64_t second : {5, 6, 7})
        expect_same_as_policy(policy, first, second);
    }
  }
}

// Calls 0 and 1 are told apart by one branch: to a rule that was written far away, for call 1000,
// and to the return of call 900, which is, for one of the sizes, the last that the branch reaches.
TEST(SeccompCompile, ReachesBothSidesOfABranchWhenOneIsFarAndOneJustInReach) {
  const Rule shared = when(arg(0).is(1), pretend(3)).otherwise(refuse(EPERM));
  const int sharers[] = {0, 1000};
  const int allowed[] = {1, 900};
  for (std::size_t size = 200; size <= 280; ++size) {
    Rule between = refuse(EPERM);
    between.clauses.push_back(
        {{{0, 0xffff'ffff, std::vector<std::uint64_t>(size, 3)}}, pretend(1)});
    const SeccompPolicy policy = make_policy(
        {{sharers, shared}, {allowed, allow()}, {10, pretend(2)}, {50, std::move(between)}});
    for (const std::uint64_t first : {0, 1, 3})
      expect_same_as_policy(policy, first);
  }
}

TEST(SeccompCompile, WritesARuleOnceForAllCallsThatShareIt) {
  const Rule rule = when(arg(0).is_one_of({1, 2, 3, 4, 5}), allow()).otherwise(refuse(EPERM));
  const int calls[] = {1, 3, 5, 7, 9};
  std::vector<PolicyLine> apart;
  for (const int number : calls)
    apart.emplace_back(number, rule);
  const auto shared = compile(make_policy({{calls, rule}}));
  const auto repeated = compile(make_policy(std::move(apart)));
  ASSERT_TRUE(shared && repeated);
  EXPECT_LT(shared->size() + 40, repeated->size());
}

// Also where there are more of them than one range has.
TEST(SeccompCompile, TakesOneInstructionForASingleCallAmongOthers) {
  const auto lines = [](int singles) {
    std::vector<PolicyLine> all;
    for (int number = 0; number < 100; ++number)
      all.emplace_back(number, number % 3 == 1 && number < 3 * singles ? pretend(EPERM) : allow());
    return all;
  };
  const auto none = compile(make_policy(lines(0)));
  const auto six = compile(make_policy(lines(6)));
  const auto twelve = compile(make_policy(lines(12)));
  ASSERT_TRUE(none && six && twelve);
  EXPECT_LE(six->size(), none->size() + 6 + 1) << "and the return of their own verdict";
  EXPECT_LE(twelve->size(), six->size() + 6 + 1) << "and the search for one range more";
  for (const int singles : {5, 6, 7, 12, 13, 33})
    expect_same_as_policy(make_policy(lines(singles)));
}

TEST(SeccompCompile, RefusesAPolicyThatTheKernelWouldNotTake) {
  seccomp::Comparison many{0, ~std::uint64_t{0}, {}};
  for (std::uint64_t value = 0; value < 2000; ++value)
    many.values.push_back(value);
  Rule rule = refuse(EPERM);
  rule.clauses.push_back({{many}, allow()});
  const auto program = compile(make_policy({{1, rule}}));
  ASSERT_FALSE(program);
  EXPECT_NE(program.error().message.find("the kernel takes 4096"), std::string::npos);
}

TEST(SeccompCompile, AgreesWithThePolicyOnRandomPoliciesAndCalls) {
  std::mt19937_64 random(20'241'115);
  std::uint64_t actions_seen[3] = {};
  std::size_t longest = 0;
  for (int round = 0; round < 400; ++round) {
    std::vector<std::uint8_t> bytes(1 << (8 + random() % 8));
    for (std::uint8_t& byte : bytes)
      byte = static_cast<std::uint8_t>(random());
    PolicyFromBytes source(std::span(bytes).first(bytes.size() / 2));
    const SeccompPolicy policy = source.policy();
    const auto program = compile(policy);
    if (!program) {
      EXPECT_NE(program.error().message.find("the kernel takes 4096"), std::string::npos);
      continue;
    }
    longest = std::max(longest, program->size());
    source.go_on_with(std::span(bytes).last(bytes.size() / 2));
    for (int calls = 0; calls < 300 && !source.exhausted(); ++calls) {
      const seccomp_data call = source.call();
      const seccomp::Verdict verdict = policy.decide(call);
      ++actions_seen[static_cast<int>(verdict.kind)];
      const auto action = evaluate(*program, call);
      ASSERT_TRUE(action) << action.error().message;
      ASSERT_EQ(*action, action_of(verdict)) << "round " << round << ", call " << call.nr;
    }
  }
  EXPECT_GT(longest, 1000u);
  for (const std::uint64_t times : actions_seen)
    EXPECT_GT(times, 1000u);
}

}  // namespace
}  // namespace sallyport
