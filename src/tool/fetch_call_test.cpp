#include "tool/fetch_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/rules_fixture.h"
#include "tool/file_order.h"

namespace sallyport {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

Tool fetch_tool() {
  Tool tool;
  tool.name = "t";
  tool.kind = ToolKind::builtin;
  tool.builtin = Builtin::http_fetch;
  tool.network.allow.push_back({.host = host_pattern("*.b.c")});
  tool.network.allow.push_back({.host = host_pattern("d.e"), .port = 8080, .scheme = "http"});
  tool.network.allow.push_back({.host = host_pattern("db.e"), .port = 5432, .scheme = "postgres"});
  return tool;
}

Tool http_tool() {
  Tool tool;
  tool.name = "t";
  tool.kind = ToolKind::http;
  tool.http = {
      .method = "PUT", .url = "https://a.b/{x}", .headers = {}, .body = json::object{{"x", "{x}"}}};
  tool.args = {argument("x", "{}")};
  return tool;
}

Result<CellSpec> spec_of(const Tool& tool, const json::object& arguments, CallRequest request = {},
                         Limits limits = {}) {
  const Envelope envelope;
  return make_cell_spec({.tool = tool,
                         .envelope = envelope,
                         .limits = limits,
                         .arguments = arguments,
                         .request = request,
                         .program = "/usr/bin/sallyport"});
}

// What it takes to begin and to end does not shrink with the limit.
TEST(FetchCall, EndsItselfBeforeTheLimitDoes) {
  const struct {
    int timeout, own;
  } rows[] = {{60'000, 54'000}, {10'000, 9'000}, {5'000, 4'000}, {4'000, 3'000}, {1'000, 750}};
  for (const auto& row : rows) {
    Limits limits;
    limits.timeout = std::chrono::milliseconds(row.timeout);
    const auto spec = spec_of(fetch_tool(), {{"url", "https://a.b.c/"}}, {}, limits);
    ASSERT_TRUE(spec);
    EXPECT_EQ(parse_fetch_order(*spec->input)->milliseconds, row.own);
  }
}

TEST(FetchCall, RunsOurOwnProgramWithTheRequest) {
  Limits limits;
  limits.timeout = std::chrono::seconds(10);
  limits.max_result = {1000};
  const auto spec = spec_of(fetch_tool(), {{"url", "https://a.b.c/"}, {"text", true}}, {}, limits);
  ASSERT_TRUE(spec);
  EXPECT_THAT(spec->command, ElementsAre(kProgramInside, "in-cell", "fetch"));
  ASSERT_EQ(spec->grants.size(), 1U);
  const auto order = parse_fetch_order(*spec->input);
  ASSERT_TRUE(order);
  EXPECT_EQ(order->method, "GET");
  EXPECT_EQ(order->form, FetchForm::document);
  EXPECT_TRUE(order->readable);
  EXPECT_EQ(order->max_answer, 1000U);
  EXPECT_EQ(order->most_bytes, 20'000U);
  EXPECT_EQ(order->milliseconds, 9000U);
  EXPECT_THAT(order->allowed, ElementsAre("https://*.b.c", "http://d.e:8080"));
}

TEST(FetchCall, RefusesWhatTheToolMayNotReachAndSaysWhatItMay) {
  for (const char* url : {"https://b.c/", "http://a.b.c/", "https://a.b.c:8443/", "https://d.e/",
                          "http://d.e/", "https://db.e:5432/", "http://db.e:5432/"}) {
    const auto refused = make_request({}, fetch_tool(), {{"url", url}});
    ASSERT_FALSE(refused) << url;
    EXPECT_EQ(refused.error().key, "network");
    EXPECT_EQ(refused.error().error.reason, Reason::argument);
    EXPECT_THAT(refused.error().error.hint, HasSubstr("https://*.b.c or http://d.e:8080"));
  }
  EXPECT_TRUE(make_request({}, fetch_tool(), {{"url", "http://d.e:8080/"}}));
  Ceiling ceiling;
  ceiling.deny_hosts.push_back(host_pattern("a.b.c"));
  EXPECT_FALSE(make_request(ceiling, fetch_tool(), {{"url", "https://a.b.c/"}}));
  EXPECT_TRUE(make_request(ceiling, fetch_tool(), {{"url", "https://x.b.c/"}}));
}

TEST(FetchCall, HoldsTheCallerToMethodsAndHeaders) {
  const auto refused_by = [](const Tool& tool, json::object arguments) {
    arguments["url"] = "https://a.b.c/";
    const auto made = make_request({}, tool, arguments);
    return made ? std::string() : made.error().key;
  };
  Tool tool = fetch_tool();
  EXPECT_EQ(refused_by(tool, {{"method", "HEAD"}}), "");
  EXPECT_EQ(refused_by(tool, {{"method", "POST"}}), "methods");
  EXPECT_EQ(refused_by(tool, {{"body", ""}}), "args.body");
  EXPECT_EQ(refused_by(tool, {{"headers", {{"Host", "x"}}}}), "args.headers");
  EXPECT_EQ(refused_by(tool, {{"headers", {{"A", "b"}, {"a", "c"}}}}), "args.headers");
  tool.methods = {"POST"};
  EXPECT_EQ(refused_by(tool, {}), "methods");
  EXPECT_EQ(refused_by(tool, {{"method", "POST"}, {"body", ""}}), "");
}

TEST(FetchCall, AsksForJsonWhereThePolicyDoes) {
  Tool tool = http_tool();
  EXPECT_FALSE(answers_json(tool));
  auto order = make_request({}, tool, {{"x", 1}});
  ASSERT_TRUE(order);
  EXPECT_EQ(order->form, FetchForm::text);
  EXPECT_EQ(order->method, "PUT");
  EXPECT_EQ(order->url, "https://a.b/1");
  EXPECT_EQ(order->body, R"({"x":1})");
  EXPECT_THAT(order->headers, ElementsAre(Pair("Content-Type", "application/json")));
  tool.result_json = true;
  EXPECT_TRUE(answers_json(tool));
  order = make_request({}, tool, {{"x", 1}});
  EXPECT_EQ(order->form, FetchForm::json);
  EXPECT_THAT(order->headers, Contains(Pair("Accept", "application/json")));
  tool.result_json = false;
  tool.output.schema = *Schema::compile(json::object());
  EXPECT_TRUE(answers_json(tool));
  tool.network.deny.push_back(host_pattern("a.b"));
  EXPECT_EQ(make_request({}, tool, {{"x", 1}}).error().key, "network");
}

TEST(FetchCall, TakesNoFilesAndNoInput) {
  CallRequest request;
  request.input = "x";
  EXPECT_EQ(spec_of(http_tool(), {{"x", 1}}, request).error().reason, Reason::argument);
  request = {};
  request.files.push_back({.path = "a", .content = "b"});
  EXPECT_EQ(spec_of(fetch_tool(), {{"url", "https://a.b.c/"}}, request).error().reason,
            Reason::argument);
}

}  // namespace
}  // namespace sallyport
