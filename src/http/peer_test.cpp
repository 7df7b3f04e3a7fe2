#include "http/peer.h"

#include <gtest/gtest.h>

#include "http/allowed_hosts.h"
#include "http/response.h"

namespace sallyport {
namespace {

using Verdict = AllowedHosts::Verdict;

TEST(TrustedProxies, BelieveOnlyWhatATrustedOneWrote) {
  const auto proxies = TrustedProxies::create({"10.0.0.0/8", "192.0.2.7", "2001:db8::/33"});
  ASSERT_TRUE(proxies);
  const auto client = [&](std::string_view peer, const std::vector<std::string>& forwarded) {
    HttpHeaders headers{{"x-other", "1.1.1.1"}};
    for (const std::string& value : forwarded)
      headers.emplace_back("x-forwarded-for", value);
    return proxies->client(*IpAddress::parse(peer), headers).to_text();
  };
  EXPECT_EQ(client("198.51.100.1", {"10.0.0.1"}), "198.51.100.1");
  EXPECT_EQ(client("10.1.2.3", {}), "10.1.2.3");
  EXPECT_EQ(client("10.1.2.3", {"198.51.100.9"}), "198.51.100.9");
  EXPECT_EQ(client("10.1.2.3", {"127.0.0.1, 198.51.100.9"}), "198.51.100.9");
  EXPECT_EQ(client("10.1.2.3", {"127.0.0.1, 198.51.100.9 ,10.9.9.9"}), "198.51.100.9");
  EXPECT_EQ(client("10.1.2.3", {"1.2.3.4, 198.51.100.9", "192.0.2.7, 10.0.0.2"}), "198.51.100.9");
  EXPECT_EQ(client("10.1.2.3", {"10.0.0.5, 10.0.0.6"}), "10.0.0.5");
  EXPECT_EQ(client("10.1.2.3", {"::ffff:198.51.100.9"}), "198.51.100.9");
  EXPECT_EQ(client("2001:db8:1::1", {"2001:db8:8000::1"}), "2001:db8:8000::1");
  EXPECT_EQ(client("10.1.2.3", {"127.0.0.1, unknown"}), "10.1.2.3");
  EXPECT_EQ(client("10.1.2.3", {"127.0.0.1,"}), "10.1.2.3");
  EXPECT_EQ(client("10.1.2.3", {"127.0.0.1, 0x7f.1, 10.0.0.7"}), "10.0.0.7");
  EXPECT_EQ(client("192.0.2.8", {"1.2.3.4"}), "192.0.2.8");
}

TEST(TrustedProxies, RefuseWhatIsNoRange) {
  for (const char* entry : {"10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/8/8", "::/129",
                            "proxy.example.com", "10.1", ""})
    EXPECT_FALSE(TrustedProxies::create({entry})) << entry;
  EXPECT_TRUE(TrustedProxies::create({"0.0.0.0/0", "::/0"}));
}

TEST(AllowedHosts, KnowTheirOwnNamesAndNoOthers) {
  const auto hosts = AllowedHosts::create({"api.example.com", "*.in.example.com", "198.51.100.5"});
  ASSERT_TRUE(hosts);
  const auto local = *IpAddress::parse("192.0.2.1");
  const auto judge = [&](std::string_view host) { return hosts->judge(host, local); };
  for (const char* host :
       {"localhost", "LOCALHOST:8640", "127.0.0.1", "127.8.9.1:80", "[::1]", "[::1]:1",
        "[::ffff:127.0.0.1]", "192.0.2.1", "192.0.2.1:8640", "198.51.100.5", "api.example.com",
        "API.example.com:443", "a.in.example.com"})
    EXPECT_EQ(judge(host), Verdict::allowed) << host;
  for (const char* host : {"evil.example", "localhost.evil.example", "notlocalhost",
                           "in.example.com", "api.example.com.evil.example", "0.0.0.0", "192.0.2.2",
                           "[::]", "10.0.0.1", "evil.localhost"})
    EXPECT_EQ(judge(host), Verdict::foreign) << host;
  for (const char* host : {"",
                           ":80",
                           "localhost:",
                           "localhost:0",
                           "localhost:65536",
                           "localhost:80:80",
                           "localhost:+80",
                           "localhost.",
                           "a b",
                           "a@localhost",
                           "localhost/",
                           "[localhost]",
                           "[::1",
                           "::1",
                           "[127.0.0.1]",
                           "[::1]x",
                           "[::1]80",
                           "2130706433",
                           "0x7f.1",
                           "127.1",
                           "a,localhost"})
    EXPECT_EQ(judge(host), Verdict::malformed) << host;
}

TEST(AllowedHosts, TakeAnOriginByItsHost) {
  const auto hosts = AllowedHosts::create({"api.example.com"});
  ASSERT_TRUE(hosts);
  for (const char* origin : {"http://localhost:3000", "https://api.example.com"})
    EXPECT_TRUE(hosts->allows_origin(origin, std::nullopt)) << origin;
  for (const char* origin :
       {"null", "", "http://evil.example", "file://", "http://localhost/", "localhost",
        "chrome-extension://localhost", "http://localhost http://evil.example"})
    EXPECT_FALSE(hosts->allows_origin(origin, std::nullopt)) << origin;
}

TEST(ResponseHead, CannotBeSplitByAHeader) {
  std::string out;
  append_head(out,
              {.status = 200,
               .body = "abc",
               .type = "text/plain\r\nX-Evil: 1",
               .headers = {{"X-Good", "1"},
                           {"X-Bad", "1\r\nSet-Cookie: a=b"},
                           {"X Bad", "1"},
                           {"", "1"},
                           {"content-LENGTH", "7"},
                           {"Transfer-Encoding", "chunked"}}},
              BodyForm::length, true, "now");
  EXPECT_EQ(out,
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nDate: now\r\nCache-Control: no-store\r\n"
            "X-Content-Type-Options: nosniff\r\nX-Good: 1\r\nConnection: close\r\n\r\n");
}

TEST(ResponseHead, HasAStatusThatIsOne) {
  std::string out;
  append_head(out, {.status = 99}, BodyForm::length, false, {});
  EXPECT_EQ(out.substr(0, 13), "HTTP/1.1 500 ");
  out.clear();
  append_head(out, {.status = 204, .body = "x"}, BodyForm::length, false, {});
  EXPECT_EQ(out.find("Content-"), out.find("Content-Type-Options"));
  EXPECT_EQ(http_date(784111777), "Sun, 06 Nov 1994 08:49:37 GMT");
}

}  // namespace
}  // namespace sallyport
