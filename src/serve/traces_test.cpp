#include "serve/traces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <set>

#include "base/json.h"
#include "http/loopback_fixture.h"

namespace sallyport {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr const char* kCallId = "0123456789abcdef0123456789abcdef";
constexpr const char* kSampled = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
constexpr const char* kNotSampled = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-02";

CallResult result_of(Status status, Reason reason = Reason::none) {
  CallResult result;
  result.call_id = kCallId;
  result.status = status;
  result.reason = reason;
  result.policy = "policy-hash";
  result.stages = {
      {"gates", 50}, {"intent", 900}, {"run", 20'000}, {"way_out", 5}, {"outcome", 800}};
  return result;
}

// Takes everything, as a collector does.
std::string accept_all(const std::string&) {
  return "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
}

std::unique_ptr<Traces> open(TraceSettings settings) {
  auto traces = Traces::open(std::move(settings));
  EXPECT_TRUE(traces) << traces.error().message;
  return std::move(*traces);
}

std::vector<json::object> spans_in(const std::vector<std::string>& requests) {
  std::vector<json::object> spans;
  for (const std::string& request : requests) {
    EXPECT_THAT(request, StartsWith("POST /v1/traces HTTP/1.1\r\n"));
    EXPECT_THAT(request, HasSubstr("\r\nContent-Type: application/json\r\n"));
    const auto body = parse_json(request.substr(request.find("\r\n\r\n") + 4));
    if (!body) {
      ADD_FAILURE() << body.error().message;
      continue;
    }
    for (const auto& resource : body->at("resourceSpans").as_array())
      for (const auto& scope : resource.at("scopeSpans").as_array())
        for (const auto& span : scope.at("spans").as_array())
          spans.push_back(span.as_object());
  }
  return spans;
}

// The spans of one call that ended like this.
std::vector<json::object> spans_of(const CallResult& result, const CallLabels& labels,
                                   const std::string& parent, std::int64_t total_us) {
  LoopbackServer collector(accept_all);
  {
    const auto traces = open({.url = collector.url()});
    traces->record(result, labels, parent, total_us);
  }
  return spans_in(collector.requests());
}

std::string attribute(const json::object& span, std::string_view key) {
  for (const auto& attribute : span.at("attributes").as_array())
    if (attribute.at("key").as_string() == key)
      return std::string(attribute.at("value").at("stringValue").as_string());
  return {};
}

std::int64_t time_of(const json::object& span, std::string_view key) {
  return std::stoll(std::string(span.at(key).as_string()));
}

TEST(Traces, TellACallAfterTheConventionsForTools) {
  const auto spans = spans_of(result_of(Status::success), {"python", "acme"}, "", 25'000);
  ASSERT_EQ(spans.size(), 7U);
  const json::object& call = spans[0];
  EXPECT_EQ(call.at("name"), "execute_tool python");
  EXPECT_EQ(call.at("kind"), 1);
  EXPECT_EQ(call.at("traceId"), kCallId);
  EXPECT_FALSE(call.contains("parentSpanId"));
  EXPECT_FALSE(call.contains("status"));
  EXPECT_EQ(attribute(call, "gen_ai.operation.name"), "execute_tool");
  EXPECT_EQ(attribute(call, "gen_ai.tool.name"), "python");
  EXPECT_EQ(attribute(call, "gen_ai.tool.call.id"), kCallId);
  EXPECT_EQ(attribute(call, "error.type"), "");
  EXPECT_EQ(attribute(call, "sallyport.tenant"), "acme");
  EXPECT_EQ(attribute(call, "sallyport.status"), "success");
  EXPECT_EQ(attribute(call, "sallyport.policy"), "policy-hash");
  EXPECT_EQ(time_of(call, "endTimeUnixNano") - time_of(call, "startTimeUnixNano"), 25'000'000);
}

TEST(Traces, HaveAChildForEachStage) {
  const auto spans = spans_of(result_of(Status::success), {"python", "acme"}, kSampled, 25'000);
  ASSERT_EQ(spans.size(), 7U);
  std::set<std::string> ids;
  std::int64_t at = time_of(spans[0], "startTimeUnixNano");
  std::vector<std::string> names;
  for (const json::object& span : spans) {
    const std::string id(span.at("spanId").as_string());
    EXPECT_EQ(id.size(), 16U);
    EXPECT_TRUE(ids.insert(id).second);
    EXPECT_EQ(span.at("traceId"), "4bf92f3577b34da6a3ce929d0e0e4736");
    if (&span == &spans[0]) continue;
    EXPECT_EQ(span.at("parentSpanId"), spans[0].at("spanId"));
    EXPECT_EQ(time_of(span, "startTimeUnixNano"), at);
    at = time_of(span, "endTimeUnixNano");
    names.emplace_back(span.at("name").as_string());
  }
  EXPECT_EQ(at, time_of(spans[0], "endTimeUnixNano"));
  EXPECT_EQ(spans[0].at("parentSpanId"), "00f067aa0ba902b7");
  EXPECT_THAT(names,
              testing::ElementsAre("sallyport.wait", "sallyport.gates", "sallyport.intent",
                                   "sallyport.run", "sallyport.way_out", "sallyport.outcome"));
}

TEST(Traces, NameTheErrorOfACallThatDidNotSucceed) {
  for (const auto& [status, reason] :
       {std::pair(Status::blocked, Reason::permission), std::pair(Status::killed, Reason::timeout),
        std::pair(Status::error, Reason::exit)}) {
    const auto spans = spans_of(result_of(status, reason), {"t", "t"}, "", 30'000);
    ASSERT_FALSE(spans.empty());
    EXPECT_EQ(attribute(spans[0], "error.type"), name_of(reason));
    EXPECT_EQ(spans[0].at("status").at("code"), 2);
  }
  const auto pending =
      spans_of(result_of(Status::pending, Reason::approval), {"t", "t"}, "", 30'000);
  EXPECT_EQ(attribute(pending.at(0), "error.type"), "");
  EXPECT_EQ(attribute(pending.at(0), "sallyport.reason"), "approval");
}

TEST(Traces, HonourTheFlagOfTheirParent) {
  EXPECT_TRUE(spans_of(result_of(Status::success), {"t", "t"}, kNotSampled, 1).empty());
  EXPECT_EQ(spans_of(result_of(Status::success), {"t", "t"}, kSampled, 30'000).size(), 7U);
}

TEST(Traces, BeginAnewWhereTheParentIsNoParent) {
  for (const char* parent : {
           "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
           "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
           "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
           "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x",
           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-zz",
           "00-4bf92f3577b34da6a3ce929d0e0e4736",
           "rubbish",
       }) {
    const auto spans = spans_of(result_of(Status::success), {"t", "t"}, parent, 30'000);
    ASSERT_FALSE(spans.empty()) << parent;
    EXPECT_EQ(spans[0].at("traceId"), kCallId) << parent;
    EXPECT_FALSE(spans[0].contains("parentSpanId")) << parent;
  }
  const auto later = spans_of(result_of(Status::success), {"t", "t"},
                              "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x", 30'000);
  EXPECT_EQ(later.at(0).at("parentSpanId"), "00f067aa0ba902b7");
}

TEST(Traces, SayNothingThatAToolOrItsCallerSaid) {
  LoopbackServer collector(accept_all);
  CallResult result = result_of(Status::blocked, Reason::argument);
  result.tool = result.caller = result.output = result.error = result.message = result.hint =
      result.rule = "SECRET";
  result.data = "SECRET";
  result.collected["SECRET"] = "SECRET";
  result.stages.push_back({"SECRET", 1});
  {
    const auto traces = open({.url = collector.url()});
    traces->record(result, {"", ""}, "", 30'000);
    traces->record(result, {"bytes \xff\xfe", "\"\\\n"}, "SECRET", -1);
  }
  ASSERT_EQ(collector.requests().size(), 1U);
  EXPECT_THAT(collector.requests()[0], Not(HasSubstr("SECRET")));
  const auto spans = spans_in(collector.requests());
  ASSERT_FALSE(spans.empty());
  EXPECT_EQ(spans[0].at("name"), "execute_tool unknown");
}

TEST(Traces, ComeInBatches) {
  LoopbackServer collector(accept_all);
  {
    const auto traces = open({.url = collector.url("/base/"), .batch = 10, .interval = 1h});
    for (int i = 0; i < 95; ++i)
      traces->record(result_of(Status::success), {"t", "t"}, "", 30'000);
  }
  std::size_t spans = 0;
  for (const std::string& request : collector.requests()) {
    EXPECT_THAT(request, StartsWith("POST /base/v1/traces HTTP/1.1\r\n"));
    const auto body = parse_json(request.substr(request.find("\r\n\r\n") + 4));
    const auto& batch =
        body->at("resourceSpans").at(0).at("scopeSpans").at(0).at("spans").as_array();
    EXPECT_LE(batch.size(), 70U);
    spans += batch.size();
  }
  EXPECT_EQ(spans, 95U * 7);
}

TEST(Traces, AreSentWithoutBeingAskedFor) {
  std::mutex mutex;
  std::condition_variable arrived;
  int requests = 0;
  LoopbackServer collector([&](const std::string& request) {
    const std::lock_guard lock(mutex);
    ++requests;
    arrived.notify_all();
    return accept_all(request);
  });
  const auto traces = open({.url = collector.url(), .interval = 1ms});
  traces->record(result_of(Status::success), {"t", "t"}, "", 30'000);
  std::unique_lock lock(mutex);
  arrived.wait(lock, [&] { return requests == 1; });
}

TEST(Traces, AreDroppedWhenTheirCollectorIsAway) {
  std::string url;
  {
    const LoopbackServer gone(accept_all);
    url = gone.url();
  }
  TraceNumbers numbers;
  {
    const auto traces = open({.url = url, .most_waiting = 20, .batch = 1000, .interval = 1h});
    for (int i = 0; i < 100; ++i)
      traces->record(result_of(Status::success), {"t", "t"}, "", 30'000);
    numbers = traces->numbers();
  }
  EXPECT_EQ(numbers.sent, 0U);
  EXPECT_EQ(numbers.dropped, 80U * 7);
}

TEST(Traces, CountWhatWasTakenAndWhatWasNot) {
  std::atomic<int> requests = 0;
  LoopbackServer collector([&](const std::string& request) {
    return requests++ == 0 ? "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n" : accept_all(request);
  });
  const auto traces = open({.url = collector.url(), .interval = 1ms, .longest_pause = 1ms});
  const auto record = [&] { traces->record(result_of(Status::success), {"t", "t"}, "", 30'000); };
  record();
  while (traces->numbers().dropped == 0)
    std::this_thread::yield();
  EXPECT_EQ(traces->numbers().sent, 0U);
  record();
  while (traces->numbers().sent == 0)
    std::this_thread::yield();
  EXPECT_EQ(traces->numbers().sent, 7U);
  EXPECT_EQ(traces->numbers().dropped, 7U);
}

TEST(Traces, NeverMakeACallWaitForACollectorThatHangs) {
  std::mutex mutex;
  std::condition_variable wake;
  bool asked = false, over = false;
  LoopbackServer collector([&](const std::string& request) {
    std::unique_lock lock(mutex);
    asked = true;
    wake.notify_all();
    wake.wait(lock, [&] { return over; });
    return accept_all(request);
  });
  const auto traces = open({.url = collector.url(),
                            .most_waiting = 3,
                            .interval = 1ms,
                            .patience = std::chrono::minutes{5}});
  traces->record(result_of(Status::success), {"t", "t"}, "", 30'000);
  std::unique_lock lock(mutex);
  wake.wait(lock, [&] { return asked; });
  // The one request there is does not come back, and still all of these do.
  for (int i = 0; i < 10; ++i)
    traces->record(result_of(Status::success), {"t", "t"}, "", 30'000);
  EXPECT_EQ(traces->numbers().dropped, 7U * 7);
  over = true;
  wake.notify_all();
}

TEST(Traces, NeedAnAddress) {
  EXPECT_FALSE(Traces::open({.url = "http://collector.example:4318"}));
  EXPECT_FALSE(Traces::open({.url = "https://127.0.0.1:4318"}));
  EXPECT_FALSE(Traces::open({.url = "127.0.0.1:4318"}));
}

}  // namespace
}  // namespace sallyport
