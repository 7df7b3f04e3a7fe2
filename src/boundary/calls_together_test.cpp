// Calls that are made in steps, several at a time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "audit/journal_fixture.h"
#include "boundary/boundary_fixture.h"
#include "sallyport/boundary.h"

namespace sallyport {
namespace {

TEST(Boundary, TakesSeveralCallsThroughTogetherEachOnItsOwn) {
  Boundary boundary = open(R"(
version: 1
roles: { agent: { permissions: [go] } }
callers: { ann: { role: agent } }
tools:
  say:   { tier: inline, needs: [go], args: { word: { type: string } } }
  throw: { tier: inline, needs: [go] }
  twice: { tier: inline, needs: [go], rate: 1/h }
)");
  add(boundary, echo("say", {}));
  add(boundary, echo("twice", {}));
  add(boundary, {.name = "throw", .body = [](const json::object&) -> Result<json::value> {
                   throw std::runtime_error("no");
                 }});
  EXPECT_TRUE(boundary.is_inline("say"));
  EXPECT_FALSE(boundary.is_inline("nothing"));
  std::vector<TogetherCall> calls;
  calls.push_back({.request = request("ann", "say", R"({"word": "a"})")});
  calls.push_back({.request = request("ann", "say", R"({"word": 1})")});
  calls.push_back({.request = request("ann", "throw")});
  calls.push_back({.request = request("ann", "twice")});
  calls.push_back({.request = request("ann", "twice")});
  calls.push_back({.request = request("eve", "say")});
  calls.push_back({.request = request("ann", "say", R"({"word": "b"})")});
  calls.back().request.dry_run = true;
  boundary.call_together(calls);
  EXPECT_EQ(calls[0].result.data, json::value({{"word", "a"}}));
  EXPECT_EQ(calls[1].result.reason, Reason::argument);
  EXPECT_EQ(calls[2].result.reason, Reason::exit);
  EXPECT_EQ(calls[3].result.status, Status::success);
  EXPECT_EQ(calls[4].result.reason, Reason::rate_limit);
  EXPECT_EQ(calls[5].result.reason, Reason::permission);
  EXPECT_EQ(calls[6].result.status, Status::success);
  EXPECT_FALSE(calls[6].result.data);
  boundary.call_together({});
}

class BoundaryRecords : public JournalFixture {};

TEST_F(BoundaryRecords, TakesCallsThatPassedTheGatesOnOtherThreadsBefore) {
  Boundary boundary = sallyport::open(R"(
version: 1
roles: { agent: { permissions: [go] } }
tenants: { t: {} }
callers: { ann: { role: agent, tenant: t } }
tools: { say: { tier: inline, needs: [go], concurrency: 2, args: { word: { type: string } } } }
)",
                                      {.state = path_});
  add(boundary, echo("say", {}));
  TogetherCall good{.request = request("ann", "say", R"({"word": "a"})")};
  TogetherCall wrong{.request = request("ann", "say", R"({"word": 1})")};
  TogetherCall late{.request = request("ann", "say", R"({"word": "b"})")};
  std::thread([&] { boundary.pass_gates(good); }).join();
  std::thread([&] { boundary.pass_gates(wrong); }).join();
  TogetherCall* const calls[] = {&good, &wrong, &late};
  boundary.end_and_begin({}, calls);  // the refused one holds no place any more
  boundary.run_begun(calls);
  boundary.end_and_begin(calls, {});
  EXPECT_EQ(good.result.data, json::value({{"word", "a"}}));
  EXPECT_EQ(wrong.result.reason, Reason::argument);
  EXPECT_EQ(late.result.data, json::value({{"word", "b"}}));
  std::vector<std::string> kinds;
  for (const json::object& record : records())
    kinds.emplace_back(record.at("record").as_string());
  EXPECT_THAT(kinds, testing::ElementsAre("intent", "intent", "outcome", "outcome", "outcome"));
}

TEST(Boundary, ACallThatIsGivenUpBehindTheGatesHoldsNothing) {
  Boundary boundary = open(R"(
version: 1
roles: { agent: { permissions: [go] } }
callers: { ann: { role: agent } }
tools: { say: { tier: inline, needs: [go], concurrency: 1, rate: 1/h } }
)");
  add(boundary, echo("say", {}));
  TogetherCall first{.request = request("ann", "say")};
  boundary.pass_gates(first);
  EXPECT_EQ(boundary.call(request("ann", "say")).status, Status::blocked);
  boundary.give_up(first);
  boundary.give_up(first);  // what is not there any more is not given back twice
  EXPECT_EQ(boundary.call(request("ann", "say")).status, Status::success);
  EXPECT_EQ(boundary.call(request("ann", "say")).reason, Reason::rate_limit);
}

TEST(Boundary, KnowsWhichFunctionsHaveBeenQuick) {
  using std::chrono_literals::operator""h;
  // Whether it is, after so many calls.
  const auto is_quick = [](QuickFunctions quick, int calls) {
    Boundary boundary = open(R"(
version: 1
roles: { agent: { permissions: [go] } }
callers: { ann: { role: agent } }
defaults: { rate: 1000000/s }
tools: { say: { tier: inline, needs: [go] } }
)",
                             {.quick = quick});
    add(boundary, {.name = "say", .body = [](const json::object&) -> Result<json::value> {
                     std::this_thread::sleep_for(std::chrono::microseconds{10});
                     return nullptr;
                   }});
    for (int i = 0; i < calls; ++i)
      EXPECT_EQ(boundary.call(request("ann", "say")).status, Status::success);
    TogetherCall call{.request = request("ann", "say")};
    boundary.pass_gates(call);
    const bool quick_now = boundary.is_quick(call);
    boundary.give_up(call);
    return quick_now;
  };
  EXPECT_FALSE(is_quick({.usual = 1h, .most = 1h}, 63));
  EXPECT_TRUE(is_quick({.usual = 1h, .most = 1h}, 64));
  EXPECT_FALSE(is_quick({.usual = {}, .most = 1h}, 64));
  EXPECT_FALSE(is_quick({.usual = 1h, .most = {}}, 64));
}

}  // namespace
}  // namespace sallyport
