#include <gmock/gmock.h>

#include "policy/network_access.h"
#include "policy/problem_rows.h"

namespace sallyport {
namespace {

using testing::ElementsAre;

TEST(PolicyCredentials, MistakesAreNamedAndPlaced) {
  constexpr ProblemRow kRows[] = {
      {kVersion "credentials: {c: {from: \"env:X\", inject: cookie, to: [a.b]}}\n",
       "f:2:42: credentials.c.inject: 'cookie' is not a way to send a secret (write bearer, basic, "
       "basic:USER, header:NAME, query:NAME, or password for postgres)"},
      {kVersion "credentials: {c: {from: \"env:X\", inject: \"header:Host\", to: [a.b]}}\n",
       "f:2:42: credentials.c.inject: 'header:Host' is not a way to send a secret"},
      {kVersion "credentials: {c: {from: \"env:X\", inject: \"header:a b\", to: [a.b]}}\n",
       "f:2:42: credentials.c.inject: 'header:a b' is not a way to send a secret"},
      {kVersion "credentials: {c: {from: \"command:ls\", inject: bearer, to: [a.b]}}\n",
       "f:2:25: credentials.c.from: this does not say where the secret comes from"},
      {kVersion "credentials: {c: {from: \"file:/a/../b\", inject: bearer, to: [a.b]}}\n",
       "f:2:25: credentials.c.from: this does not say where the secret comes from"},
      {kVersion "credentials: {c: {from: \"env:X\", inject: bearer, to: [{host: a.b, scheme: "
                "http}]}}\n",
       "f:2:55: credentials.c.to[0]: a credential is not sent over http (only https and postgres "
       "keep it from others)"},
      {kVersion "credentials: {c: {from: \"env:X\", inject: bearer, to: [{host: a.b, inspect: "
                "true, methods: [GET]}]}}\n",
       "f:2:55: credentials.c.to[0]: methods and paths are those of the credential (write them "
       "beside `to`)"},
      {kVersion "credentials: {c: {from: \"env:X\", inject: password, to: [a.b]}}\n",
       "f:2:18: credentials.c: a password is sent in postgres only (write inject: bearer or "
       "basic)"},
      {kVersion "credentials: {c: {from: \"env:X\", inject: bearer, to: [{host: a.b, scheme: "
                "postgres}]}}\n",
       "f:2:18: credentials.c: 'bearer' is not a way to send a secret in postgres (write inject: "
       "password)"},
      {kVersion "credentials: {c: {from: \"env:X\", env: X, to: [a.b, {host: a.c, scheme: "
                "postgres}]}}\n",
       "f:2:18: credentials.c: the credential goes to hosts of two kinds, https and postgres "
       "(describe it twice)"},
      {kVersion
       "credentials: {c: {from: \"env:X\", env: T, places: [\"header:Host\"], to: [a.b]}}\n",
       "f:2:51: credentials.c.places[0]: 'header:Host' is not a place for a placeholder (write "
       "header:NAME or query:NAME, such as header:Authorization)"},
      {kVersion "credentials: {c: {from: \"env:X\", env: T, places: [body], to: [a.b]}}\n",
       "f:2:51: credentials.c.places[0]: 'body' is not a place for a placeholder"},
      {kVersion
       "credentials: {c: {from: \"env:X\", inject: bearer, places: [\"query:k\"], to: [a.b]}}\n",
       "f:2:18: credentials.c: there is no placeholder that could stand in `places` (write env: "
       "NAME)"},
      {kVersion
       "credentials: {c: {from: \"env:X\", env: T, places: [\"query:k\"], to: [{host: a.b, scheme: "
       "postgres}]}}\n",
       "f:2:18: credentials.c: postgres has no headers and no query (leave `places` out)"},
      {kVersion "credentials: {c: {from: \"env:X\", inject: bearer, shape: x_, to: [a.b]}}\n",
       "f:2:18: credentials.c: there is no placeholder that could have a shape (write env: NAME)"},
      {kVersion "credentials: {c: {from: \"env:X\", env: X, shape: \"a b\", to: [a.b]}}\n",
       "f:2:49: credentials.c.shape: 'a b' is not how a placeholder can begin"},
      {kVersion "credentials: {c: {from: \"env:X\", env: X, uses: 0, to: [a.b]}}\n",
       "f:2:48: credentials.c.uses: '0' is out of range"},
  };
  expect_problems(kRows);
}

Tool tool_with(std::string_view credential) {
  const auto policy = Policy::parse(std::string(kVersion) +
                                    "tools: {t: {use: run_shell, needs: [], screen: none, "
                                    "credentials: [c]}}\ncredentials: {c: {" +
                                    std::string(credential) + "}}\n");
  EXPECT_TRUE(policy) << (policy ? "" : to_text(policy.error()[0]));
  return policy ? policy->rules().tools.at("t") : Tool();
}

TEST(PolicyCredentials, AToolThatUsesOneReachesItsHostsAndIsLookedInto) {
  const EgressRules rules = network_access(
      {}, tool_with("from: \"env:X\", env: GITHUB_TOKEN, methods: [GET], paths: [/v1], uses: 3, "
                    "expires: 10s, to: [a.b, {host: c.d, port: 8443, internal: true, address: "
                    "10.0.0.1}]"));
  const EgressRule first{.host = "a.b",
                         .port = 443,
                         .scheme = EgressScheme::https,
                         .inspect = true,
                         .address = {},
                         .methods = {"GET"},
                         .paths = {"/v1"},
                         .id = "credentials.c.to[0]"};
  EgressRule second = first;
  second.host = "c.d";
  second.port = 8443;
  second.internal = true;
  second.address = "10.0.0.1";
  second.id = "credentials.c.to[1]";
  EXPECT_THAT(rules.allow, ElementsAre(first, second));
  const EgressGrant grant{
      .credential = "c",
      .to = {{.host = "a.b"}, {.host = "c.d", .port = 8443, .scheme = EgressScheme::https}},
      .methods = {"GET"},
      .paths = {"/v1"},
      .place = GrantPlace::placeholder,
      .field = {},
      .variable = "GITHUB_TOKEN",
      .shape = "ghp_",
      .uses = 3,
      .expires = std::chrono::seconds(10)};
  EXPECT_THAT(rules.grants, ElementsAre(grant));
}

TEST(PolicyCredentials, TheWaysOfSending) {
  const struct {
    const char* inject;
    GrantPlace place;
    const char* field;
  } rows[] = {{"bearer", GrantPlace::bearer, ""},
              {"basic", GrantPlace::basic, ""},
              {"\"basic:git\"", GrantPlace::basic, "git"},
              {"\"header:X-Key\"", GrantPlace::header, "X-Key"},
              {"\"query:key\"", GrantPlace::query, "key"}};
  for (const auto& row : rows) {
    const Tool tool = tool_with("from: \"file:/x\", to: [a.b], inject: " + std::string(row.inject));
    const auto grants = network_access({}, tool).grants;
    ASSERT_EQ(grants.size(), 1);
    EXPECT_EQ(grants[0].place, row.place) << row.inject;
    EXPECT_EQ(grants[0].field, row.field) << row.inject;
    EXPECT_EQ(grants[0].variable, "");
  }
  const auto database = network_access(
      {}, tool_with("from: \"file:/x\", env: PGPASSWORD, to: [{host: db.corp, scheme: postgres}]"));
  EXPECT_EQ(database.grants[0].to[0].scheme, EgressScheme::postgres);
  EXPECT_EQ(database.grants[0].shape, "");
  EXPECT_FALSE(database.allow[0].inspect);
}

TEST(PolicyCredentials, TheirSourcesAreThoseOfToolsThatUseThem) {
  const auto policy = Policy::parse(
      kVersion
      "tools: {t: {use: run_shell, needs: [], credentials: [a, b]}, u: {use: run_shell, needs: [], "
      "credentials: [a]}}\ncredentials: {a: {from: \"env:X\", inject: bearer, to: [a.b], refresh: "
      "5s}, b: {from: \"command:/bin/x y\", inject: bearer, to: [a.c]}, unused: {from: \"env:Z\", "
      "inject: bearer, to: [a.d]}}\n");
  ASSERT_TRUE(policy);
  EXPECT_THAT(
      reader_settings(policy->rules(), "").sources,
      ElementsAre(
          CredentialSource{.name = "a", .from = "env:X", .refresh = std::chrono::seconds(5)},
          CredentialSource{
              .name = "b", .from = "command:/bin/x y", .refresh = std::chrono::minutes(1)}));
}

}  // namespace
}  // namespace sallyport
