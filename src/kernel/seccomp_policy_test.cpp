#include "kernel/seccomp_policy.h"

#include <gtest/gtest.h>

#include "kernel/seccomp_make_call.h"

namespace sallyport {
namespace {

using seccomp::allow;
using seccomp::arg;
using seccomp::pretend;
using seccomp::refuse;
using seccomp::Rule;
using seccomp::Verdict;
using seccomp::when;

Verdict decide(const Rule& rule, std::uint64_t first, std::uint64_t second = 0) {
  return rule.decide(make_call(0, {first, second}));
}

TEST(SeccompPolicy, TheFirstConditionThatHoldsDecides) {
  const Rule rule = when(arg(0).is_one_of({1, 2}), allow())
                        .when(arg(0).is_one_of({2, 3}), pretend(ENOSYS))
                        .otherwise(refuse(EPERM));
  EXPECT_EQ(decide(rule, 2), allow());
  EXPECT_EQ(decide(rule, 3), pretend(ENOSYS));
  EXPECT_EQ(decide(rule, 4), refuse(EPERM));
}

TEST(SeccompPolicy, HasNoneLooksAtTheNamedBitsOfAllSixtyFour) {
  const std::uint64_t high = std::uint64_t{1} << 40;
  const Rule rule = when(arg(0).has_none(high | 4), allow()).otherwise(refuse(EPERM));
  EXPECT_EQ(decide(rule, 3), allow());
  EXPECT_EQ(decide(rule, 4), refuse(EPERM));
  EXPECT_EQ(decide(rule, high), refuse(EPERM));
}

TEST(SeccompPolicy, Low32ForgetsTheUpperHalfOfARegister) {
  const Rule rule = when(arg(0).low32().is(0x5412), refuse(EPERM)).otherwise(allow());
  EXPECT_EQ(decide(rule, 0x5412 | std::uint64_t{1} << 32), refuse(EPERM));
  EXPECT_EQ(decide(rule, 0x5413), allow());
}

TEST(SeccompPolicy, AndBindsOverEveryAlternativeOfBothSides) {
  const Rule rule = when((arg(0).is(1) || arg(0).is(2)) && (arg(1).is(3) || arg(1).is(4)), allow())
                        .otherwise(refuse(EPERM));
  EXPECT_EQ(decide(rule, 1, 4), allow());
  EXPECT_EQ(decide(rule, 2, 3), allow());
  EXPECT_EQ(decide(rule, 2, 2), refuse(EPERM));
  EXPECT_EQ(decide(rule, 3, 3), refuse(EPERM));
}

TEST(SeccompPolicy, AnswersWhatNoLineNamesAndEveryOtherAbiWithEnosys) {
  const auto policy = SeccompPolicy::make({{20, refuse(EPERM)}});
  ASSERT_TRUE(policy);
  EXPECT_EQ(refusal_errno(*policy, make_call(20)), EPERM);
  EXPECT_EQ(refusal_errno(*policy, make_call(21)), ENOSYS);
  EXPECT_EQ(refusal_errno(*policy, make_call(-1)), ENOSYS);
  EXPECT_EQ(refusal_errno(*policy, make_call(20, {}, AUDIT_ARCH_I386)), ENOSYS);
  EXPECT_EQ(refusal_errno(*policy, make_call(0x4000'0000 | 20)), ENOSYS);
}

TEST(SeccompPolicy, IsNotMadeOfLinesThatContradictThemselves) {
  EXPECT_FALSE(SeccompPolicy::make({{1, allow()}, {1, refuse(EPERM)}}));
  EXPECT_FALSE(SeccompPolicy::make({{-1, allow()}}));
  EXPECT_FALSE(SeccompPolicy::make({{SeccompPolicy::kCallLimit, allow()}}));
  EXPECT_FALSE(SeccompPolicy::make({{1, refuse(0)}})) << "would answer with success";
  EXPECT_FALSE(SeccompPolicy::make({{1, pretend(4096)}})) << "would read as success";
  EXPECT_FALSE(SeccompPolicy::make({{1, when(arg(6).is(0), allow()).otherwise(refuse(EPERM))}}));
}

}  // namespace
}  // namespace sallyport
