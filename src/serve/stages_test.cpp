#include "serve/stages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sallyport/boundary.h"

namespace sallyport {
namespace {

constexpr std::string_view kPolicy = R"(
version: 1
roles: { reader: [read:data] }
callers: { vera: { role: reader } }
defaults: { limits: { timeout: 7s } }
tools: {}
)";

Boundary boundary_with_echo() {
  auto boundary = Boundary::open(*Policy::parse(kPolicy));
  EXPECT_TRUE(boundary->add({.name = "echo",
                             .description = "",
                             .needs = {"read:data"},
                             .args = {{"text", {{"type", "string"}}}},
                             .tier = FunctionTier::inline_call,
                             .body = [](const boost::json::object& arguments)
                                 -> Result<boost::json::value> { return arguments.at("text"); }}));
  return std::move(*boundary);
}

CallRequest request_of(const char* tool) {
  CallRequest request;
  request.caller = "vera";
  request.tool = tool;
  request.arguments = {{"text", "hello"}};
  return request;
}

TEST(CallStages, AreThoseThatTheBoundaryNotes) {
  Boundary boundary = boundary_with_echo();
  const CallResult result = boundary.call(request_of("echo"));
  ASSERT_EQ(result.status, Status::success) << result.message;
  std::vector<std::string> steps;
  for (const Timing& stage : result.stages)
    steps.push_back(stage.step);
  EXPECT_THAT(steps, testing::ElementsAreArray(kCallStages.begin() + 1, kCallStages.end()));
  for (const auto& time : stage_times(result, 1'000'000))
    EXPECT_TRUE(time);
}

TEST(CallStages, EndWhereTheCallDid) {
  Boundary boundary = boundary_with_echo();
  const CallResult result = boundary.call(request_of("nothing"));
  ASSERT_EQ(result.status, Status::blocked);
  const StageTimes times = stage_times(result, 1'000'000);
  EXPECT_TRUE(times[0] && times[1] && times[5]);
  EXPECT_FALSE(times[2] || times[3] || times[4]);
  EXPECT_EQ(result.deadline_us, 0);
}

TEST(CallStages, AddUpToTheWholeTime) {
  CallResult result;
  result.stages = {{"gates", 10}, {"run", 200}, {"unheard_of", 3000}};
  const StageTimes times = stage_times(result, 1000);
  EXPECT_EQ(times[0], 790);
  EXPECT_EQ(times[1], 10);
  EXPECT_EQ(times[3], 200);
  EXPECT_EQ(stage_times(result, 100)[0], 0);  // clocks that were read in another order
  EXPECT_EQ(stage_times(CallResult{}, 100), StageTimes{});
}

TEST(CallDeadline, IsTheTimeoutThatIsInForce) {
  Boundary boundary = boundary_with_echo();
  EXPECT_EQ(boundary.call(request_of("echo")).deadline_us, 7'000'000);
  CallRequest tighter = request_of("echo");
  tighter.limits = {{"timeout", "3s"}};
  EXPECT_EQ(boundary.call(tighter).deadline_us, 3'000'000);
}

TEST(AuditLag, IsNothingWhileNobodyCalls) {
  Boundary boundary = boundary_with_echo();
  [[maybe_unused]] const CallResult result = boundary.call(request_of("echo"));
  EXPECT_EQ(boundary.audit_lag().waiting, 0U);
  EXPECT_EQ(boundary.audit_lag().oldest_us, 0);
}

}  // namespace
}  // namespace sallyport
