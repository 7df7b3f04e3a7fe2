#include "serve/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <thread>

#include "base/file.h"
#include "base/text.h"
#include "serve/metrics_text.h"

namespace sallyport {
namespace {

using testing::HasSubstr;
using testing::Not;

CallResult result_of(Status status, Reason reason = Reason::none) {
  CallResult result;
  result.status = status;
  result.reason = reason;
  if (status != Status::blocked) {
    result.tier = "process";
    result.stages = {
        {"gates", 50}, {"intent", 900}, {"run", 20'000}, {"way_out", 5}, {"outcome", 800}};
  } else {
    result.stages = {{"gates", 50}, {"outcome", 800}};
  }
  return result;
}

MetricGauges all_gauges() {
  return {.policy = "abc",
          .audit_waiting = 0,
          .audit_lag_us = 0,
          .spans_sent = 0,
          .spans_dropped = 0,
          .pool = PoolStatus{}};
}

std::vector<MetricFamily> page_of(const ServiceMetrics& metrics, const MetricGauges& gauges = {}) {
  auto page = parse_metrics(metrics.render(gauges));
  EXPECT_TRUE(page) << page.error().message;
  return page ? std::move(*page) : std::vector<MetricFamily>();
}

using Labels = std::map<std::string, std::string, std::less<>>;

std::optional<double> value_of(const std::vector<MetricFamily>& page, std::string_view name,
                               const Labels& labels = {}) {
  for (const MetricFamily& family : page)
    for (const MetricSample& sample : family.samples)
      if (sample.name == name && sample.labels == labels) return sample.value;
  return std::nullopt;
}

TEST(ServiceMetrics, IsAWholePageBeforeTheFirstCall) {
  const ServiceMetrics metrics;
  const auto page = page_of(metrics, all_gauges());
  EXPECT_GE(page.size(), 20U);
  EXPECT_THAT(metrics.render({}), testing::ContainsRegex("sallyport_build_info.version=\"[0-9.]+"));
  EXPECT_EQ(value_of(page, "sallyport_policy_info", {{"policy", "abc"}}), 1);
  EXPECT_EQ(value_of(page, "sallyport_policy_last_reload_good"), 1);
  // An alert on the first refusal needs the zero before it.
  for (const ReasonText& row : kReasons)
    EXPECT_EQ(value_of(page, "sallyport_refusals_total", {{"reason", std::string(row.name)}}), 0);
}

TEST(ServiceMetrics, CountsCallsByToolTenantStatusAndReason) {
  ServiceMetrics metrics;
  metrics.observe(result_of(Status::success), {"python", "acme"}, 22'000);
  metrics.observe(result_of(Status::success), {"python", "acme"}, 22'000);
  metrics.observe(result_of(Status::killed, Reason::timeout), {"python", "acme"}, 22'000);
  metrics.observe(result_of(Status::blocked, Reason::permission), {"shell", "beta"}, 900);
  metrics.observe(result_of(Status::blocked, Reason::unknown_tool), {"", ""}, 900);
  const auto page = page_of(metrics);
  const auto calls = [&](const char* tool, const char* tenant, const char* status,
                         const char* reason) {
    return value_of(page, "sallyport_calls_total",
                    {{"tool", tool}, {"tenant", tenant}, {"status", status}, {"reason", reason}});
  };
  EXPECT_EQ(calls("python", "acme", "success", "none"), 2);
  EXPECT_EQ(calls("python", "acme", "killed", "timeout"), 1);
  EXPECT_EQ(calls("shell", "beta", "blocked", "permission"), 1);
  EXPECT_EQ(calls("unknown", "unknown", "blocked", "unknown_tool"), 1);
  EXPECT_EQ(calls("python", "beta", "success", "none"), std::nullopt);
  EXPECT_EQ(value_of(page, "sallyport_refusals_total", {{"reason", "permission"}}), 1);
  EXPECT_EQ(value_of(page, "sallyport_refusals_total", {{"reason", "timeout"}}), 0);
  EXPECT_EQ(value_of(page, "sallyport_cells_started_total"), 3);
}

TEST(ServiceMetrics, MeasuresEachStageAndTheWaitBeforeThem) {
  ServiceMetrics metrics;
  metrics.observe(result_of(Status::success), {"python", "acme"}, 21'755 + 3'000);
  metrics.observe(result_of(Status::blocked, Reason::rate_limit), {"python", "acme"}, 850);
  const auto page = page_of(metrics);
  const std::string name = "sallyport_call_stage_duration_seconds";
  const auto count = [&](const char* stage) {
    return value_of(page, name + "_count", {{"stage", stage}});
  };
  EXPECT_EQ(count("wait"), 2);
  EXPECT_EQ(count("gates"), 2);
  EXPECT_EQ(count("intent"), 1);
  EXPECT_EQ(count("run"), 1);
  EXPECT_EQ(count("outcome"), 2);
  EXPECT_DOUBLE_EQ(*value_of(page, name + "_sum", {{"stage", "wait"}}), 0.003);
  EXPECT_DOUBLE_EQ(*value_of(page, name + "_sum", {{"stage", "run"}}), 0.02);
  const auto bucket = [&](const char* le) {
    return value_of(page, name + "_bucket", {{"stage", "run"}, {"le", le}});
  };
  EXPECT_EQ(bucket("0.01"), 0);
  EXPECT_EQ(bucket("0.025"), 1);
  EXPECT_EQ(bucket("+Inf"), 1);
  EXPECT_EQ(value_of(page, "sallyport_call_duration_seconds_count", {{"tool", "python"}}), 2);
}

TEST(ServiceMetrics, PutsATimeIntoTheBucketThatItEnds) {
  ServiceMetrics metrics;
  metrics.observe(result_of(Status::success), {"t", "t"}, 1'000);
  metrics.observe(result_of(Status::success), {"t", "t"}, 1'001);
  metrics.observe(result_of(Status::success), {"t", "t"}, -5);
  metrics.observe(result_of(Status::success), {"t", "t"}, std::int64_t{1} << 50);
  const auto page = page_of(metrics);
  const auto bucket = [&](const char* le) {
    return value_of(page, "sallyport_call_duration_seconds_bucket", {{"tool", "t"}, {"le", le}});
  };
  EXPECT_EQ(bucket("0.0001"), 1);
  EXPECT_EQ(bucket("0.001"), 2);
  EXPECT_EQ(bucket("0.0025"), 3);
  EXPECT_EQ(bucket("300"), 3);
  EXPECT_EQ(bucket("+Inf"), 4);
}

TEST(ServiceMetrics, TellsCallsThatWereAnsweredWithinTheirDeadline) {
  ServiceMetrics metrics;
  const auto observe = [&](Status status, Reason reason, std::int64_t deadline,
                           std::int64_t total) {
    CallResult result = result_of(status, reason);
    result.deadline_us = deadline;
    metrics.observe(result, {"t", "t"}, total);
  };
  observe(Status::success, Reason::none, 1000, 1000);
  observe(Status::error, Reason::exit, 1000, 10);
  observe(Status::killed, Reason::timeout, 1000, 1001);
  observe(Status::success, Reason::none, 1000, 5000);       // it waited too long
  observe(Status::blocked, Reason::argument, 1000, 10);     // nothing was to run
  observe(Status::blocked, Reason::permission, 0, 10);      // nor here
  observe(Status::blocked, Reason::unavailable, 0, 10);     // no launcher
  observe(Status::blocked, Reason::cannot_enforce, 5, 10);  // no Landlock
  observe(Status::error, Reason::internal, 1000, 10);
  const auto page = page_of(metrics);
  const auto answers = [&](const char* answer) {
    return value_of(page, "sallyport_deadline_calls_total", {{"answer", answer}});
  };
  EXPECT_EQ(answers("in_time"), 2);
  EXPECT_EQ(answers("late"), 2);
  EXPECT_EQ(answers("failed"), 3);
}

TEST(ServiceMetrics, CountsReloadsAndAnswers) {
  ServiceMetrics metrics;
  metrics.reloaded(true);
  metrics.reloaded(false);
  for (const unsigned status : {200U, 200U, 503U, 0U, 599U, 600U, 4'000'000'000U})
    metrics.http_status(status);
  const auto page = page_of(metrics, {.calls_in_flight = 3,
                                      .calls_waiting = 4,
                                      .connections = 5,
                                      .audit_waiting = 2,
                                      .audit_lag_us = 1'500'000});
  EXPECT_EQ(value_of(page, "sallyport_policy_reloads_total", {{"result", "good"}}), 1);
  EXPECT_EQ(value_of(page, "sallyport_policy_reloads_total", {{"result", "bad"}}), 1);
  EXPECT_EQ(value_of(page, "sallyport_policy_last_reload_good"), 0);
  EXPECT_EQ(value_of(page, "sallyport_http_responses_total", {{"code", "200"}}), 2);
  EXPECT_EQ(value_of(page, "sallyport_http_responses_total", {{"code", "503"}}), 1);
  EXPECT_EQ(value_of(page, "sallyport_calls_in_flight"), 3);
  EXPECT_EQ(value_of(page, "sallyport_calls_waiting"), 4);
  EXPECT_EQ(value_of(page, "sallyport_http_connections"), 5);
  EXPECT_EQ(value_of(page, "sallyport_audit_waiting_records"), 2);
  EXPECT_EQ(value_of(page, "sallyport_audit_lag_seconds"), 1.5);
  // What is not known is not said to be zero.
  EXPECT_EQ(value_of(page_of(metrics), "sallyport_audit_lag_seconds"), std::nullopt);
}

TEST(ServiceMetrics, EscapesEveryLabel) {
  ServiceMetrics metrics;
  const std::string name = "a\"b\\c\nd} 9\ne{x=\"y\"}";
  metrics.observe(result_of(Status::success), {name, name}, 1);
  metrics.observe(result_of(Status::success), {"\xff\xfe", "x"}, 1);
  const std::string text = metrics.render({.policy = name});
  EXPECT_EQ(to_utf8(text), text);
  const auto page = page_of(metrics, {.policy = name});
  EXPECT_EQ(value_of(page, "sallyport_calls_total",
                     {{"tool", name}, {"tenant", name}, {"status", "success"}, {"reason", "none"}}),
            1);
  EXPECT_EQ(value_of(page, "sallyport_policy_info", {{"policy", name}}), 1);
}

TEST(ServiceMetrics, StaysBoundedWhateverItsNamesAre) {
  ServiceMetrics metrics;
  for (int i = 0; i < 5000; ++i)
    metrics.observe(result_of(Status::success),
                    {"tool" + std::to_string(i), "tenant" + std::to_string(i % 7)}, 1000);
  const auto page = page_of(metrics);
  std::size_t series = 0, histograms = 0;
  double calls = 0, measured = 0;
  for (const MetricFamily& family : page) {
    for (const MetricSample& sample : family.samples) {
      if (sample.name == "sallyport_calls_total") ++series, calls += sample.value;
      if (sample.name == "sallyport_call_duration_seconds_count")
        ++histograms, measured += sample.value;
    }
  }
  EXPECT_EQ(series, ServiceMetrics::kMostPairs + 1);
  EXPECT_EQ(histograms, ServiceMetrics::kMostTools + 1);
  EXPECT_EQ(calls, 5000);
  EXPECT_EQ(measured, 5000);
  // Those that were known before are still themselves.
  EXPECT_EQ(
      value_of(
          page, "sallyport_calls_total",
          {{"tool", "tool3"}, {"tenant", "tenant3"}, {"status", "success"}, {"reason", "none"}}),
      1);
}

TEST(ServiceMetrics, LosesNothingWhenManyThreadsCount) {
  ServiceMetrics metrics;
  constexpr int kThreads = 8, kCalls = 2000;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([&metrics, thread] {
      for (int i = 0; i < kCalls; ++i) {
        metrics.observe(result_of(Status::success), {"tool" + std::to_string(i % 150), "t"}, i);
        metrics.http_status(200);
        // Every page is a sound one, whenever it is asked for.
        if (i % 500 == thread) EXPECT_TRUE(parse_metrics(metrics.render({})));
      }
    });
  for (std::thread& thread : threads)
    thread.join();
  const auto page = page_of(metrics);
  double calls = 0, measured = 0;
  for (const MetricFamily& family : page)
    for (const MetricSample& sample : family.samples) {
      if (sample.name == "sallyport_calls_total") calls += sample.value;
      if (sample.name == "sallyport_call_duration_seconds_count") measured += sample.value;
    }
  EXPECT_EQ(calls, kThreads * kCalls);
  EXPECT_EQ(measured, kThreads * kCalls);
  EXPECT_EQ(value_of(page, "sallyport_http_responses_total", {{"code", "200"}}), kThreads * kCalls);
  EXPECT_EQ(value_of(page, "sallyport_call_stage_duration_seconds_count", {{"stage", "run"}}),
            kThreads * kCalls);
}

TEST(ServiceMetrics, SaysNothingThatAToolOrItsCallerSaid) {
  ServiceMetrics metrics;
  CallResult result = result_of(Status::success);
  result.tool = result.caller = result.output = result.error = result.message = result.hint =
      result.rule = result.call_id = "SECRET";
  metrics.observe(result, {"python", "acme"}, 1);
  EXPECT_THAT(metrics.render({}), Not(HasSubstr("SECRET")));
}

TEST(MetricsText, RefusesPagesThatContradictThemselves) {
  const std::string head = "# HELP a A.\n# TYPE a counter\n";
  const std::string histogram = "# HELP h H.\n# TYPE h histogram\n";
  EXPECT_TRUE(parse_metrics(""));
  EXPECT_TRUE(parse_metrics(head + "a{b=\"c\",d=\"\\\"\\\\\\n\"} 1\na 2.5\n"));
  EXPECT_TRUE(parse_metrics(histogram + "h_bucket{le=\"1\"} 1\nh_bucket{le=\"+Inf\"} 2\nh_sum 3\n"
                                        "h_count 2\n"));
  for (const std::string& text : {
           std::string("a 1\n"),
           std::string("# TYPE a counter\na 1\n"),
           std::string("# HELP a A.\na 1\n"),
           std::string("# HELP a A.\n"),
           std::string("# HELP a A.\n# TYPE a thing\na 1\n"),
           head + "a 1",
           head + "b 1\n",
           head + "a one\n",
           head + "a NaN\n",
           head + "a -1\n",
           head + "a 1\na 1\n",
           head + "a 1 2\n",
           head + "a  1\n",
           head + "a{} 1\n",
           head + "a{b=\"c\"}1\n",
           head + "a{b=\"c\" 1\n",
           head + "a{b=\"c\",} 1\n",
           head + "a{b=\"c\",b=\"d\"} 1\n",
           head + "a{b=\"\\x\"} 1\n",
           head + "a{0=\"c\"} 1\n",
           head + "a 1\n\n",
           head + "a 1\n" + head + "a{b=\"c\"} 1\n",
           histogram + "h 1\n",
           histogram + "h_bucket{le=\"+Inf\"} 2\nh_sum 3\nh_count 1\n",
           histogram + "h_bucket{le=\"1\"} 2\nh_sum 3\nh_count 2\n",
           histogram + "h_bucket{le=\"1\"} 3\nh_bucket{le=\"+Inf\"} 2\nh_sum 3\nh_count 2\n",
           histogram + "h_bucket{le=\"2\"} 1\nh_bucket{le=\"1\"} 1\nh_bucket{le=\"+Inf\"} 1\n"
                       "h_sum 3\nh_count 1\n",
           histogram + "h_bucket{le=\"+Inf\"} 2\nh_count 2\n",
           histogram + "h_bucket 2\nh_sum 3\nh_count 2\n",
       })
    EXPECT_FALSE(parse_metrics(text)) << text;
}

// Every word in `text` that looks like the name of a metric of ours.
std::set<std::string> metric_names_in(const std::string& text) {
  std::set<std::string> names;
  const auto is_part = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  };
  for (std::size_t at = 0; (at = text.find("sallyport_", at)) != std::string::npos;) {
    std::size_t end = at;
    while (end < text.size() && is_part(text[end]))
      ++end;
    if (at == 0 || !is_part(text[at - 1])) names.insert(text.substr(at, end - at));
    at = end;
  }
  return names;
}

class MetricDocuments : public testing::TestWithParam<const char*> {};

TEST_P(MetricDocuments, NameOnlyMetricsThatExist) {
  ServiceMetrics metrics;
  metrics.observe(result_of(Status::success), {"t", "t"}, 1);
  metrics.http_status(200);
  std::set<std::string> known;
  for (const MetricFamily& family : page_of(metrics, all_gauges())) {
    known.insert(family.name);
    for (const MetricSample& sample : family.samples)
      known.insert(sample.name);
  }
  const auto text = read_file((std::string(SALLYPORT_SOURCE_DIR) + "/" + GetParam()).c_str());
  ASSERT_TRUE(text);
  const auto named = metric_names_in(*text);
  EXPECT_GE(named.size(), 3U);
  for (const std::string& name : named)
    EXPECT_TRUE(known.contains(name)) << GetParam() << " names " << name;
}

INSTANTIATE_TEST_SUITE_P(Each, MetricDocuments,
                         testing::Values("deploy/grafana/sallyport.json",
                                         "deploy/prometheus/alerts.yml", "docs/operations.md"));

TEST(OperationsManual, NamesEveryMetric) {
  ServiceMetrics metrics;
  const auto text = read_file(SALLYPORT_SOURCE_DIR "/docs/operations.md");
  ASSERT_TRUE(text);
  const auto named = metric_names_in(*text);
  for (const MetricFamily& family : page_of(metrics, all_gauges()))
    if (family.name.starts_with("sallyport_"))
      EXPECT_TRUE(named.contains(family.name)) << family.name;
}

}  // namespace
}  // namespace sallyport
