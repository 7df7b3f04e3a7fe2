#include "input/url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>
#include <string>

namespace sallyport {
namespace {

using ::testing::HasSubstr;

struct Refusal {
  std::string_view text;
  std::string_view message;
};

void expect_refusals(std::span<const Refusal> cases, const UrlRules& rules = {}) {
  for (const Refusal& c : cases) {
    const auto url = Url::parse(c.text, rules);
    ASSERT_FALSE(url) << c.text << " became " << url->to_text();
    EXPECT_EQ(url.error().reason, Reason::argument);
    EXPECT_THAT(url.error().message, HasSubstr(std::string(c.message))) << c.text;
    EXPECT_FALSE(url.error().hint.empty()) << c.text;
  }
}

TEST(Url, RefusesWhatHidesTheHost) {
  using namespace std::string_view_literals;
  const Refusal cases[] = {
      {"http://allowed.com@evil.com/", "user name"},
      {"http://user:pass@example.com/", "user name"},
      {"http://@example.com/", "user name"},
      {"http://allowed.com\\@evil.com/", "backslash"},
      {"http:\\\\evil.com/", "backslash"},
      {"http://evil.com#@allowed.com/", "fragment"},
      {"http://example.com/#top", "fragment"},
      {"http:/example.com/", "lacks the \"//\""},
      {"http:example.com", "lacks the \"//\""},
      {"http:///example.com/", "is empty"},
      {"http://", "is empty"},
      {"http://?x", "is empty"},
      {"http://:80/", "is empty"},
      {"//example.com/", "scheme"},
      {"example.com", "scheme"},
      {"", "scheme"},
      {"javascript:alert(1)", "scheme"},
      {"file:///etc/passwd", "scheme"},
      {"gopher://example.com/", "scheme"},
      {"https ://example.com/", "space"},
      {" https://example.com/", "space"},
      {"https://example.com/ ", "space"},
      {"https://exam\tple.com/", "space or control"},
      {"https://example.com/\r\nHost: evil", "space or control"},
      {"https://example.com\0.evil.com/"sv, "space or control"},
      {"https://ｅxample.com/", "not ASCII"},
      {"https://example。com/", "not ASCII"},
      {"https://example.com/ü", "not ASCII"},
      {"https://evil%2ecom/", "character other than"},
      {"https://example.com%2f@evil.com/", "user name"},
      {"https://ex_ample.com/", "character other than"},
      {"https://example.com./", "ends with a dot"},
      {"https://example.com:/", "port"},
      {"https://example.com:0/", "port"},
      {"https://example.com:080/", "port"},
      {"https://example.com:65536/", "port"},
      {"https://example.com:80:80/", "port"},
      {"https://example.com:8a/", "port"},
  };
  expect_refusals(cases);
}

TEST(Url, RefusesAddressesInEveryForm) {
  const Refusal cases[] = {
      {"http://127.0.0.1/", "names an IP address"},
      {"http://8.8.8.8/", "names an IP address"},
      {"http://[::1]/", "names an IP address"},
      {"http://[::ffff:127.0.0.1]:80/", "names an IP address"},
      {"http://[fe80::1%25eth0]/", "in brackets"},
      {"http://[127.0.0.1]/", "in brackets"},
      {"http://[v1.x]/", "in brackets"},
      {"http://[::1/", "without its ']'"},
      {"http://::1/", "is empty"},
      {"http://2130706433/", "odd form"},
      {"http://0x7f.1/", "odd form"},
      {"http://0177.0.0.1/", "odd form"},
      {"http://127.1/", "odd form"},
      {"http://0/", "odd form"},
      {"http://localhost/", "this machine"},
      {"http://LOCALHOST:8080/", "this machine"},
      {"http://a.localhost/", "this machine"},
  };
  expect_refusals(cases);
}

TEST(Url, RefusesInternalAddressesUnlessTheyAreAllowedByName) {
  const Refusal cases[] = {
      {"http://127.0.0.1/", "internal address (loopback)"},
      {"http://169.254.169.254/latest/meta-data/", "internal address (link-local)"},
      {"http://[::ffff:7f00:1]/", "internal address (loopback)"},
      {"http://2130706433/", "odd form"},
  };
  expect_refusals(cases, {.allow_ip = true});
  EXPECT_EQ(Url::parse("http://8.8.8.8", {.allow_ip = true})->to_text(), "http://8.8.8.8/");
  EXPECT_EQ(Url::parse("http://[2606:4700:0::1111]:8080/x", {.allow_ip = true})->to_text(),
            "http://[2606:4700::1111]:8080/x");
  EXPECT_TRUE(Url::parse("http://127.0.0.1/", {.allow_ip = true, .allow_internal = true}));
  EXPECT_TRUE(Url::parse("http://localhost/", {.allow_internal = true}));
}

TEST(Url, RefusesPathsThatClimbOrAreBroken) {
  const Refusal cases[] = {
      {"https://example.com/../etc", "\"..\" in its path"},
      {"https://example.com/a/..", "\"..\" in its path"},
      {"https://example.com/./a", "\"..\" in its path"},
      {"https://example.com/%2e%2e/a", "\"..\" in its path"},
      {"https://example.com/%2E./a", "\"..\" in its path"},
      {"https://example.com/%252e%252e/a", "\"..\" in its path"},
      {"https://example.com/%25252e%25252e/a", "\"..\" in its path"},
      {"https://example.com/a%2f..%2fb", "\"..\" in its path"},
      {"https://example.com/a%5c..%5cb", "\"..\" in its path"},
      {"https://example.com/..;/admin", "\"..\" in its path"},
      {"https://example.com/..%3Bx/admin", "\"..\" in its path"},
      {"https://example.com/%", "two hexadecimal digits"},
      {"https://example.com/%4", "two hexadecimal digits"},
      {"https://example.com/%zz", "two hexadecimal digits"},
      {"https://example.com/?%", "two hexadecimal digits"},
      {"https://example.com/%00", "encoded control"},
      {"https://example.com/a%0d%0aHost:x", "encoded control"},
      {"https://example.com/%7f", "encoded control"},
      {"https://example.com/?a=%00", "encoded control"},
      {"https://example.com/<script>", "'<' in its path"},
      {"https://example.com/a|b", "'|' in its path"},
      {"https://example.com/?a[]=1", "'[' in its query"},
      {"https://example.com/\"", "in its path"},
  };
  expect_refusals(cases);
  EXPECT_FALSE(Url::parse("https://example.com/" + std::string(2048, 'a')));
  EXPECT_TRUE(Url::parse("https://example.com/..a/.well-known/a..b"));
}

TEST(Url, LeadsToAllowedHostsOnly) {
  UrlRules rules{.schemes = {"https"}};
  rules.hosts.push_back(*HostPattern::parse("*.example.com"));
  rules.hosts.push_back(*HostPattern::parse("localhost"));
  rules.allow_ip = true;
  const Refusal cases[] = {
      {"https://example.com/", "not an allowed host"},
      {"https://notexample.com/", "not an allowed host"},
      {"https://a.example.com.evil.org/", "not an allowed host"},
      {"https://8.8.8.8/", "names an IP address"},
      {"http://a.example.com/", "scheme"},
  };
  expect_refusals(cases, rules);
  EXPECT_TRUE(Url::parse("https://a.example.com/", rules));
  EXPECT_TRUE(Url::parse("https://localhost/", rules));
}

TEST(Url, ComesBackInOneSpelling) {
  struct Case {
    std::string_view text, normal;
  };
  const Case cases[] = {
      {"HTTPS://API.Example.COM", "https://api.example.com/"},
      {"https://example.com:443/", "https://example.com/"},
      {"http://example.com:80?x", "http://example.com/?x"},
      {"http://example.com:443/", "http://example.com:443/"},
      {"https://example.com/%7euser/%c3%bc", "https://example.com/~user/%C3%BC"},
      {"https://example.com/a%2fb?q=%61%0a&r=a/b?c", "https://example.com/a%2Fb?q=a%0A&r=a/b?c"},
      {"https://example.com/a//b", "https://example.com/a//b"},
      {"https://example.com/?", "https://example.com/?"},
  };
  for (const Case& c : cases) {
    const auto url = Url::parse(c.text);
    ASSERT_TRUE(url) << c.text << ": " << url.error().message;
    EXPECT_EQ(url->to_text(), c.normal);
    EXPECT_EQ(Url::parse(url->to_text())->to_text(), c.normal);
  }
}

}  // namespace
}  // namespace sallyport
