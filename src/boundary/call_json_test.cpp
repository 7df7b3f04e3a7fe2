#include <gtest/gtest.h>

#include "base/json.h"
#include "sallyport/call.h"

namespace sallyport {
namespace {

TEST(CallJson, IsTheSameAsTextAndAsValue) {
  CallResult result;
  result.call_id = std::string(32, '0');
  result.status = Status::error;
  result.reason = Reason::exit;
  result.message = "it\nsaid \"no\"";
  result.output = "caf\u00e9\t";
  result.exit_code = 3;
  result.limits_hit = {"processes"};
  result.refused_syscalls = {{"mount", 3}};
  result.artifacts = {{.name = "a.txt", .size = 4}, {.name = "b", .size = 1}, {.name = "c"}};
  result.collected = {{"a.txt", "text"}, {"b", "\xff"}};
  result.findings = {{.kind = "injection.x", .path = "output, byte 3", .why = "because"}};
  result.layers = {{"landlock", "7", true, 7}};
  result.tool = "get";
  result.caller = "vera";
  result.tier = "process";
  result.rule = "tools.get";
  result.data = json::value{{"n", 0.1}, {"list", {1, nullptr, "x"}}};
  result.missing = {"a"};
  result.required = {"a", "b"};
  result.rate_remaining = 7;
  result.redactions = {{"email", 2}};
  result.policy = "hash";
  const json::object value = to_json(result);
  EXPECT_EQ(to_json_text(result), json::serialize(value));
  EXPECT_EQ(value.at("data"), *result.data);
  EXPECT_EQ(value.at("artifacts"),
            (json::array{json::object{{"name", "a.txt"}, {"size", 4}, {"content", "text"}},
                         json::object{{"name", "b"}, {"size", 1}, {"base64", "/w=="}},
                         json::object{{"name", "c"}, {"size", 0}}}));
  EXPECT_EQ(value.at("isolation").at("tier"), "process");
  EXPECT_EQ(value.at("message"), json::value(result.message));
  EXPECT_EQ(to_json(CallResult()).at("isolation").at("tier"), "none");
}

TEST(CallJson, HoldsDataOfAnyDepth) {
  CallResult result;
  json::value deep = 1;
  for (int i = 0; i < 60; ++i)
    deep = json::array{std::move(deep)};
  result.data = deep;
  EXPECT_EQ(to_json(result).at("data"), deep);
}

}  // namespace
}  // namespace sallyport
