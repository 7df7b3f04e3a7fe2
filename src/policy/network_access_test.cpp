#include "policy/network_access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/rules_fixture.h"

namespace sallyport {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Tool http_tool(std::string url, std::string method = "POST") {
  Tool tool;
  tool.name = "t";
  tool.kind = ToolKind::http;
  tool.http.method = std::move(method);
  tool.http.url = std::move(url);
  return tool;
}

TEST(NetworkAccess, HasTheHostOfARequestAsARuleOfItsOwn) {
  const auto rules = network_access({}, http_tool("https://a.b:8443/v1/{x}?y={z}"));
  EXPECT_THAT(
      rules.allow,
      ElementsAre(EgressRule{
          .host = "a.b", .port = 8443, .scheme = EgressScheme::https, .id = "tools.t.http"}));
}

TEST(NetworkAccess, NarrowsWhatCanBeSeenToTheRequest) {
  const std::pair<const char*, std::vector<std::string>> rows[] = {
      {"http://a.b", {"/"}},
      {"http://a.b/v1/c", {"/v1/c"}},
      {"http://a.b/v1/c?q={x}", {"/v1/c"}},
      {"http://a.b/v1/{x}/d", {"/v1/"}},
      {"http://a.b/v1/c-{x}", {"/v1/"}},
      {"http://a.b/{x}", {"/"}},
      {"http://a.b/v%20w/{x}", {}},
  };
  for (const auto& [url, paths] : rows) {
    const auto rules = network_access({}, http_tool(url));
    ASSERT_EQ(rules.allow.size(), 1U) << url;
    EXPECT_EQ(rules.allow[0].port, 80);
    EXPECT_EQ(rules.allow[0].scheme, EgressScheme::http);
    EXPECT_THAT(rules.allow[0].methods, ElementsAre("POST"));
    EXPECT_EQ(rules.allow[0].paths, paths) << url;
  }
}

TEST(NetworkAccess, LetsTheToolsOwnRulesGoFirst) {
  Tool tool = http_tool("https://a.b/");
  tool.network.allow.push_back({.host = host_pattern("a.b"), .internal = true});
  const auto rules = network_access({}, tool);
  ASSERT_EQ(rules.allow.size(), 2U);
  EXPECT_TRUE(rules.allow[0].internal);
  EXPECT_EQ(rules.allow[0].id, "tools.t.network.allow[0]");
  EXPECT_EQ(rules.allow[1].id, "tools.t.http");
}

TEST(NetworkAccess, HoldsHttpFetchToItsMethodsWhereTheyCanBeSeen) {
  Tool tool;
  tool.name = "t";
  tool.kind = ToolKind::builtin;
  tool.builtin = Builtin::http_fetch;
  tool.network.allow.push_back({.host = host_pattern("a.b"), .port = 80, .scheme = "http"});
  tool.network.allow.push_back({.host = host_pattern("a.b")});
  tool.network.allow.push_back(
      {.host = host_pattern("c.d"), .port = 80, .scheme = "http", .methods = {"POST"}});
  auto rules = network_access({}, tool);
  EXPECT_THAT(rules.allow[0].methods, ElementsAre("GET", "HEAD"));
  EXPECT_THAT(rules.allow[1].methods, IsEmpty());
  EXPECT_THAT(rules.allow[2].methods, ElementsAre("POST"));
  tool.methods = {"PUT"};
  rules = network_access({}, tool);
  EXPECT_THAT(rules.allow[0].methods, ElementsAre("PUT"));
}

}  // namespace
}  // namespace sallyport
