#include "boundary/replay.h"

#include <gtest/gtest.h>

namespace sallyport {
namespace {

constexpr std::string_view kPolicy = R"(
version: 1
roles: { reader: [read:data], writer: [read:data, write:data] }
callers: { vera: { role: reader }, will: { role: writer } }
tools:
  list: { run: [ls, "{count}"], needs: [read:data], args: { count: { type: integer, maximum: 10 } } }
  store: { run: [touch, x], needs: [write:data] }
)";

json::object record(std::string_view text) {
  return json::parse(text).as_object();
}

class ReplayOf : public testing::Test {
 protected:
  Replay replay_ = *Replay::begin(*Policy::parse(kPolicy));
  std::vector<ReplayChange> after(std::string_view text) {
    replay_.add(record(text));
    return replay_.changes();
  }
};

TEST_F(ReplayOf, ACallThatIsStillAllowedChangesNothing) {
  EXPECT_TRUE(after(R"({"record": "intent", "caller": "vera", "tool": "list",
                        "arguments": {"count": 5}})")
                  .empty());
  EXPECT_EQ(replay_.judged(), 1U);
}

TEST_F(ReplayOf, AnArgumentThatIsNowTooLargeIsNamedWithItsRule) {
  const auto changes = after(R"({"record": "intent", "caller": "vera", "tool": "list",
                                 "call_id": "a", "arguments": {"count": 50}})");
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].was, "allowed");
  EXPECT_EQ(changes[0].now, "blocked: argument");
  EXPECT_EQ(changes[0].rule, "tools.list.args.count");
  EXPECT_EQ(changes[0].call_id, "a");
}

TEST_F(ReplayOf, ACallThatWasRefusedAndNowIsNot) {
  const auto changes = after(R"({"record": "outcome", "caller": "will", "tool": "store",
                                 "status": "blocked", "reason": "permission"})");
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].now, "not refused for want of a permission");
}

TEST_F(ReplayOf, CallsForTheSameCauseAreCountedTogether) {
  for (int i = 0; i < 3; ++i)
    after(R"({"record": "intent", "caller": "vera", "tool": "store", "arguments": {}})");
  ASSERT_EQ(replay_.changes().size(), 1U);
  EXPECT_EQ(replay_.changes()[0].calls, 3U);
}

TEST_F(ReplayOf, WithoutItsArgumentsACallIsUnknownUnlessAPermissionDecides) {
  EXPECT_TRUE(after(R"({"record": "intent", "caller": "vera", "tool": "list"})").empty());
  EXPECT_EQ(replay_.unknown(), 1U);
  EXPECT_EQ(after(R"({"record": "intent", "caller": "vera", "tool": "store"})").size(), 1U);
  EXPECT_EQ(replay_.judged(), 1U);
}

TEST_F(ReplayOf, WhatThePolicyAloneDoesNotDecideIsPassedOver) {
  for (const char* text :
       {R"({"record": "outcome", "caller": "vera", "tool": "list", "status": "success"})",
        R"({"record": "outcome", "caller": "vera", "tool": "list", "status": "blocked",
            "reason": "rate_limit"})",
        R"({"record": "segment"})", R"({"record": 5, "tool": []})", "{}"})
    after(text);
  EXPECT_EQ(replay_.judged() + replay_.unknown(), 0U);
}

}  // namespace
}  // namespace sallyport
