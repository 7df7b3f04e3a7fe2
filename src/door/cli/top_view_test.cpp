#include "door/cli/top_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serve/metrics.h"

namespace sallyport {
namespace {

using testing::HasSubstr;
using testing::Not;

CallResult result_of(Status status, Reason reason = Reason::none) {
  CallResult result;
  result.status = status;
  result.reason = reason;
  result.deadline_us = 10'000'000;
  result.stages = {
      {"gates", 90}, {"intent", 900}, {"run", 20'000}, {"way_out", 5}, {"outcome", 800}};
  return result;
}

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// A look at a service, so many seconds from now.
TopSample look(const ServiceMetrics& metrics, double later) {
  auto page = parse_metrics(metrics.render({.calls_in_flight = 2,
                                            .calls_waiting = 1,
                                            .connections = 7,
                                            .policy = "0123456789abcdef",
                                            .audit_lag_us = 1500}));
  EXPECT_TRUE(page) << page.error().message;
  return {.metrics = std::move(*page), .running = {}, .time = now() + later};
}

TEST(TopFigures, AreAboutTheTimeBetweenTwoLooks) {
  ServiceMetrics metrics;
  for (int i = 0; i < 1000; ++i)
    metrics.observe(result_of(Status::success), {"python", "acme"}, 4'000'000);
  const TopSample before = look(metrics, 10);
  for (int i = 0; i < 50; ++i)
    metrics.observe(result_of(Status::success), {"python", "acme"}, 22'000);
  for (int i = 0; i < 4; ++i)
    metrics.observe(result_of(Status::blocked, Reason::rate_limit), {"shell", "acme"}, 500);
  metrics.observe(result_of(Status::killed, Reason::timeout), {"python", "beta"}, 11'000'000);
  TopSample after = look(metrics, 10);
  after.time = before.time + 2;

  const TopFigures figures = top_figures(after, &before);
  EXPECT_DOUBLE_EQ(figures.calls_per_second, 27.5);
  EXPECT_EQ(figures.seconds, 2);
  EXPECT_EQ(figures.in_flight, 2);
  EXPECT_EQ(figures.waiting, 1);
  EXPECT_EQ(figures.connections, 7);
  EXPECT_DOUBLE_EQ(*figures.audit_lag_seconds, 0.0015);
  const ToolFigures& python = figures.tools.at("python");
  EXPECT_DOUBLE_EQ(python.per_second, 25.5);
  EXPECT_EQ(python.calls, 1051);
  EXPECT_EQ(python.failed, 1);
  EXPECT_EQ(python.refused, 0);
  ASSERT_TRUE(python.times);
  EXPECT_GT(python.times->p50, 0.01);  // the old ones of four seconds are not in it
  EXPECT_LE(python.times->p50, 0.025);
  EXPECT_GT(python.times->p99, 10);
  EXPECT_EQ(figures.tools.at("shell").refused, 4);
  EXPECT_DOUBLE_EQ(figures.refusals.at("rate_limit").per_second, 2);
  EXPECT_FALSE(figures.refusals.contains("permission"));
  EXPECT_DOUBLE_EQ(*figures.in_time, 50.0 / 51);
  ASSERT_EQ(figures.stages.size(), 6U);
  EXPECT_EQ(figures.stages[0].first, "wait");
  EXPECT_EQ(figures.stages[3].first, "run");
}

TEST(TopFigures, AreAboutAllTimeAtTheFirstLook) {
  ServiceMetrics metrics;
  for (int i = 0; i < 30; ++i)
    metrics.observe(result_of(Status::success), {"python", "acme"}, 22'000);
  const TopFigures figures = top_figures(look(metrics, 60), nullptr);
  EXPECT_NEAR(figures.calls_per_second, 0.5, 0.1);
  EXPECT_EQ(figures.tools.at("python").calls, 30);
  EXPECT_EQ(figures.in_time, 1);
}

TEST(TopFigures, BeginAnewWithTheService) {
  ServiceMetrics first;
  for (int i = 0; i < 30; ++i)
    first.observe(result_of(Status::success), {"python", "acme"}, 22'000);
  const TopSample before = look(first, -10);
  ServiceMetrics second;
  second.observe(result_of(Status::success), {"python", "acme"}, 22'000);
  const TopFigures figures = top_figures(look(second, 10), &before);
  EXPECT_NEAR(figures.calls_per_second, 0.1, 0.02);
}

TEST(TopFigures, OfAServiceThatDidNothing) {
  const ServiceMetrics metrics;
  const TopFigures figures = top_figures(look(metrics, 1), nullptr);
  EXPECT_EQ(figures.calls_per_second, 0);
  EXPECT_FALSE(figures.in_time);
  EXPECT_TRUE(figures.tools.empty());
  EXPECT_THAT(top_text(figures, 100, 40), HasSubstr("calls 0.0/s"));
  EXPECT_TRUE(top_json(figures).at("in_time").is_null());
}

TEST(TopText, ShowsAServiceOnOneScreen) {
  ServiceMetrics metrics;
  for (int i = 0; i < 30; ++i)
    metrics.observe(result_of(Status::success), {"python", "acme"}, 22'000);
  metrics.observe(result_of(Status::blocked, Reason::permission), {"shell", "acme"}, 500);
  TopSample sample = look(metrics, 100);
  sample.running = {{.call_id = "abcd", .tool = "python", .caller = "agent"}};
  const std::string text = top_text(top_figures(sample, nullptr), 120, 50);
  EXPECT_THAT(text, HasSubstr("policy 0123456789ab "));
  EXPECT_THAT(text, HasSubstr("in flight 2   waiting 1   connections 7   in time 100.00%"));
  EXPECT_THAT(text, HasSubstr("\npython "));
  EXPECT_THAT(text, HasSubstr("\nrun "));
  EXPECT_THAT(text, HasSubstr("\npermission "));
  EXPECT_THAT(text, HasSubstr("RUNNING\npython "));
}

TEST(TopText, KeepsToTheScreenAndToPrintableText) {
  ServiceMetrics metrics;
  for (int i = 0; i < 50; ++i)
    metrics.observe(result_of(Status::success),
                    {"tool\x1b[2J" + std::to_string(i) + std::string(100, 'x'), "acme"}, 22'000);
  TopSample sample = look(metrics, 100);
  sample.running = {{.call_id = "\x1b]0;x\x07", .tool = "\r\n", .caller = "\xff"}};
  for (const std::size_t height : {0UL, 1UL, 5UL, 24UL, 100UL}) {
    const std::string text = top_text(top_figures(sample, nullptr), 79, height);
    EXPECT_LE(std::ranges::count(text, '\n'), static_cast<std::ptrdiff_t>(height));
    EXPECT_THAT(text, Not(HasSubstr("\x1b")));
    std::size_t column = 0;
    for (const char c : text) {
      column = c == '\n' ? 0 : column + 1;
      EXPECT_LE(column, 79U);
    }
  }
}

TEST(TopJson, SaysTheSame) {
  ServiceMetrics metrics;
  metrics.observe(result_of(Status::success), {"python", "acme"}, 22'000);
  metrics.observe(result_of(Status::blocked, Reason::screen), {"python", "acme"}, 22'000);
  const auto object = top_json(top_figures(look(metrics, 100), nullptr));
  EXPECT_EQ(object.at("tools").at("python").at("calls").as_int64(), 2);
  EXPECT_EQ(object.at("refusals").at("screen").at("calls").as_int64(), 1);
  EXPECT_TRUE(object.at("stages").at("run").at("p99").is_double());
  EXPECT_EQ(object.at("in_time").as_double(), 1);
}

}  // namespace
}  // namespace sallyport
