#include "door/cli/top_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/loopback_fixture.h"
#include "serve/metrics.h"

namespace sallyport {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

Result<TopRequest> parse(std::initializer_list<const char*> words) {
  return parse_top(std::span(words.begin(), words.size()));
}

std::string answer(const std::string& status, const std::string& body) {
  return "HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         body;
}

TEST(TopCommand, ReadsItsOptions) {
  EXPECT_EQ(parse({})->url, "http://127.0.0.1:8640");
  EXPECT_EQ(parse({"--url", "http://[::1]:9000/"})->url, "http://[::1]:9000/");
  EXPECT_TRUE(parse({"--once", "--json"})->once);
  EXPECT_EQ(parse({"--interval=500ms"})->interval, 500ms);
  EXPECT_EQ(parse({"--state", "/srv/state", "--as", "ops"})->caller, "ops");
  EXPECT_TRUE(parse({"--help"})->help);
}

TEST(TopCommand, RefusesWhatItDoesNotKnow) {
  EXPECT_FALSE(parse({"now"}));
  EXPECT_FALSE(parse({"--interval", "1ms"}));
  EXPECT_FALSE(parse({"--state", "/srv/state"}));
  EXPECT_FALSE(parse({"--as", "ops"}));
  EXPECT_FALSE(parse({"--state", "/srv", "--as", "ops", "--key-file", "k"}));
  EXPECT_FALSE(parse({"--url", "https://127.0.0.1:8640"}));
  EXPECT_FALSE(parse({"--url", "http://service.example:8640"}));
  EXPECT_FALSE(parse({"--url", "unix:relative"}));
  // A key among the arguments could be read by everybody on the machine.
  EXPECT_FALSE(parse({"--key", "sp_1_2"}));
}

TEST(TopCommand, FindsASocket) {
  EXPECT_EQ(parse_top_url("unix:/run/sallyport.sock")->socket, "/run/sallyport.sock");
  EXPECT_EQ(parse_top_url("http://127.0.0.1:1/")->url, "http://127.0.0.1:1");
}

TEST(TopCommand, LooksAtAService) {
  ServiceMetrics metrics;
  CallResult result;
  metrics.observe(result, {"python", "acme"}, 1000);
  const LoopbackServer server([&](const std::string& request) {
    if (!request.contains("\r\nAuthorization: Bearer sp_1_2\r\n"))
      return answer("401 Unauthorized", R"({"message":"no key","hint":"x"})");
    if (request.starts_with("GET /metrics ")) return answer("200 OK", metrics.render({}));
    return answer("200 OK", R"({"calls":[{"call_id":"1","tool":"python","caller":"vera"},7]})");
  });
  const auto sample = look_at({.url = server.url(), .socket = {}, .key = "sp_1_2"});
  ASSERT_TRUE(sample) << sample.error().message;
  ASSERT_EQ(sample->running.size(), 2U);
  EXPECT_EQ(sample->running[0].caller, "vera");
  EXPECT_EQ(top_figures(*sample, nullptr).tools.at("python").calls, 1);

  const auto refused = look_at({.url = server.url(), .socket = {}, .key = ""});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("401: no key"));
  EXPECT_THAT(refused.error().hint, HasSubstr("SALLYPORT_KEY"));
}

TEST(TopCommand, IsNotFooledByWhatIsNoService) {
  for (const char* body : {"<html>", "# HELP a A.\n", ""}) {
    const LoopbackServer server([&](const std::string&) { return answer("200 OK", body); });
    const auto sample = look_at({.url = server.url(), .socket = {}, .key = "k"});
    if (sample)
      EXPECT_TRUE(top_figures(*sample, nullptr).tools.empty());
    else
      EXPECT_EQ(sample.error().reason, Reason::unavailable);
  }
  const LoopbackServer server([](const std::string&) { return answer("500 No", "[1]"); });
  EXPECT_FALSE(look_at({.url = server.url(), .socket = {}, .key = "k"}));
  // A key with a line break in it is not sent.
  EXPECT_EQ(look_at({.url = server.url(), .socket = {}, .key = "a\r\nX: y"}).error().reason,
            Reason::argument);
}

}  // namespace
}  // namespace sallyport
