#include "egress/network_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace sallyport {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

HostName name(std::string_view text) {
  return *HostName::parse(text);
}

EgressRule rule(std::string host, std::uint16_t port = 443,
                EgressScheme scheme = EgressScheme::https) {
  EgressRule made{.host = std::move(host), .port = port, .scheme = scheme};
  made.id = made.host + ":" + std::to_string(port);
  return made;
}

NetworkMap make(std::vector<EgressRule> allow, std::vector<std::string> deny = {}) {
  auto map = NetworkMap::make({.allow = std::move(allow), .deny = std::move(deny)});
  if (!map) throw std::runtime_error(map.error().message);
  return std::move(*map);
}

std::vector<std::string> ids(const std::vector<const EgressRule*>& rules) {
  std::vector<std::string> list;
  for (const EgressRule* one : rules)
    list.push_back(one->id);
  return list;
}

TEST(NetworkMaps, GiveEveryNameAnAddressOfItsOwn) {
  const NetworkMap map = make({rule("a.example"), rule("b.example")});
  ASSERT_TRUE(map.address_of(name("a.example")));
  EXPECT_NE(map.address_of(name("a.example")), map.address_of(name("b.example")));
  EXPECT_FALSE(map.address_of(name("c.example")));
  EXPECT_FALSE(map.address_of(name("a.example.evil.tld")));
  EXPECT_FALSE(map.address_of(name("nota.example")));
}

TEST(NetworkMaps, ServeTheProxyFirst) {
  const NetworkMap map = make({rule("a.example")});
  ASSERT_EQ(map.points().size(), 2);
  EXPECT_EQ(map.points()[0].address, kProxyAddress);
  EXPECT_EQ(map.points()[0].port, kProxyPort);
  EXPECT_EQ(map.points()[1].address, map.address_of(name("a.example")));
  EXPECT_EQ(map.points()[1].port, 443);
}

TEST(NetworkMaps, LetAPatternLendItsPortsToTheNamesBelow) {
  const NetworkMap map = make({rule("a.x.example"), rule("*.x.example", 8443)});
  const auto address = map.address_of(name("a.x.example"));
  std::vector<std::uint16_t> ports;
  for (const EgressPoint& point : map.points())
    if (point.address == address) ports.push_back(point.port);
  EXPECT_THAT(ports, ElementsAre(443, 8443));
  EXPECT_THAT(ids(map.rules_for(name("a.x.example"), 8443)), ElementsAre("*.x.example:8443"));
  EXPECT_THAT(map.rules_for(name("b.x.example"), 443), IsEmpty());
}

TEST(NetworkMaps, PreferTheLongerOfTwoPatterns) {
  const NetworkMap map = make({rule("*.z.example"), rule("*.x.z.example")});
  EXPECT_EQ(map.address_of(name("a.x.z.example")), map.address_of(name("b.x.z.example")));
  EXPECT_NE(map.address_of(name("a.x.z.example")), map.address_of(name("y.z.example")));
  EXPECT_FALSE(map.address_of(name("z.example")));
}

TEST(NetworkMaps, DenyBeatsAllow) {
  const NetworkMap map = make({rule("*.z.example")}, {"*.in.z.example", "one.z.example"});
  EXPECT_TRUE(map.address_of(name("a.z.example")));
  EXPECT_FALSE(map.address_of(name("a.in.z.example")));
  EXPECT_FALSE(map.address_of(name("one.z.example")));
  EXPECT_THAT(map.rules_for(name("a.in.z.example"), 443), IsEmpty());
  EXPECT_TRUE(map.is_denied(name("one.z.example")));
}

TEST(NetworkMaps, KnowWhatIsSpokenAtAPort) {
  const NetworkMap map = make({rule("a.example"), rule("a.example", 80, EgressScheme::http),
                               rule("db.example", 5432, EgressScheme::tcp)});
  EXPECT_EQ(map.scheme_at(map.points()[1]), EgressScheme::https);
  EXPECT_EQ(map.scheme_at(map.points()[2]), EgressScheme::http);
  EXPECT_EQ(map.scheme_at(map.points()[3]), EgressScheme::tcp);
  EXPECT_EQ(map.name_at(map.points()[3]), name("db.example"));
}

TEST(NetworkMaps, RefuseWhatCannotBeHeld) {
  const auto fault = [](std::vector<EgressRule> allow) {
    const auto map = NetworkMap::make({.allow = std::move(allow)});
    return map ? std::string() : map.error().message;
  };
  EXPECT_THAT(fault({rule("*.z.example", 22, EgressScheme::tcp)}), HasSubstr("told apart"));
  EXPECT_THAT(fault({rule("a.z.example", 443), rule("*.z.example", 443, EgressScheme::http)}),
              HasSubstr("two schemes"));
  EXPECT_FALSE(fault({rule("127.0.0.1")}).empty());
  std::vector<EgressRule> many;
  for (int i = 0; i < 300; ++i)
    many.push_back(rule("h" + std::to_string(i) + ".example"));
  EXPECT_FALSE(fault(many).empty());
}

TEST(NetworkMaps, EndTheTlsOfDatabasesThatACredentialIsFor) {
  EgressRules rules{.allow = {rule("db.example", 5432, EgressScheme::postgres),
                              rule("db.example", 5433, EgressScheme::postgres),
                              rule("other.example", 5432, EgressScheme::postgres)}};
  EXPECT_FALSE(has_inspection(rules));
  rules.grants = {{.credential = "db",
                   .to = {{.host = "db.example", .port = 5432, .scheme = EgressScheme::postgres}}}};
  EXPECT_TRUE(has_inspection(rules));
  EXPECT_THAT(NetworkMap::make(rules)->inspected(), ElementsAre(*HostPattern::parse("db.example")));
  rules.grants.front().to.front().scheme = EgressScheme::tcp;
  EXPECT_FALSE(has_inspection(rules));
}

TEST(NetworkMaps, KnowWhoseTlsIsLookedInto) {
  EgressRule looked = rule("*.a.example");
  looked.inspect = true;
  const NetworkMap map = make({looked, rule("b.example")});
  EXPECT_THAT(map.inspected(), ElementsAre(*HostPattern::parse("*.a.example")));
  EXPECT_TRUE(has_inspection(map.rules()));
  EXPECT_FALSE(has_inspection(make({rule("b.example")}).rules()));
  looked.scheme = EgressScheme::http;
  EXPECT_FALSE(NetworkMap::make({.allow = {looked}}));
}

TEST(NetworkMaps, HaveNoPlacesForNames_WhenNothingIsAllowed) {
  const NetworkMap map = make({});
  EXPECT_EQ(map.points().size(), 1);
}

TEST(EgressRulesOnTheWire, ComeBackAsTheyWere) {
  EgressRules rules{.allow = {rule("*.z.example", 80, EgressScheme::http)},
                    .deny = {"x.example"},
                    .requests = 3,
                    .connections = 4,
                    .upload = 5_MB,
                    .download = 6_MB,
                    .time = std::chrono::seconds(7)};
  rules.allow[0].methods = {"GET"};
  rules.allow[0].paths = {"/v1"};
  rules.allow[0].internal = true;
  rules.allow[0].address = "10.0.0.1";
  const auto bytes = write_wire(rules, 10'000, "rules");
  ASSERT_TRUE(bytes);
  const auto read = read_wire<EgressRules>(*bytes, 10'000, "rules");
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, rules);
  for (std::size_t size = 0; size < bytes->size(); ++size)
    EXPECT_FALSE(read_wire<EgressRules>(bytes->substr(0, size), 10'000, "rules"));
}

}  // namespace
}  // namespace sallyport
