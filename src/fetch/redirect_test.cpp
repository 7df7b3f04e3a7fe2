#include "fetch/redirect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fetch/exchange.h"

namespace sallyport {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;
using testing::StartsWith;

Url url(std::string_view text) {
  return *Url::parse(text);
}

ResponseHead redirect(unsigned status, std::string place) {
  return {.line = "", .status = status, .fields = {{"Location", std::move(place)}}};
}

FetchRequest post() {
  return {"POST",
          url("https://a.b/c/d?e"),
          {{"Authorization", "x"}, {"Content-Type", "text/plain"}, {"Accept", "a/b"}},
          "body"};
}

TEST(FetchRedirect, ReadsReferencesAsTheStandardDoes) {
  const std::pair<std::string_view, std::string_view> rows[] = {
      {"https://x.y/z", "https://x.y/z"},
      {"HTTPS://X.Y", "https://x.y/"},
      {"//x.y/z?q", "https://x.y/z?q"},
      {"/g", "https://a.b:8443/g"},
      {"g", "https://a.b:8443/c/g"},
      {"g/./h/../i", "https://a.b:8443/c/g/i"},
      {"../g", "https://a.b:8443/g"},
      {"../../../g", "https://a.b:8443/g"},
      {"..", "https://a.b:8443/"},
      {".", "https://a.b:8443/c/"},
      {"?q", "https://a.b:8443/c/d?q"},
      {"", "https://a.b:8443/c/d?e"},
      {"#f", "https://a.b:8443/c/d?e"},
      {"/g#f", "https://a.b:8443/g"},
      {"g?x=/../y", "https://a.b:8443/c/g?x=/../y"},
      {"/é", "https://a.b:8443/%C3%A9"},
      {"./a:b", "https://a.b:8443/c/a:b"},
  };
  for (const auto& [reference, whole] : rows) {
    const auto resolved = resolve_reference(url("https://a.b:8443/c/d?e"), reference);
    ASSERT_TRUE(resolved) << reference << ": " << resolved.error().message;
    EXPECT_EQ(resolved->to_text(), whole) << reference;
  }
}

TEST(FetchRedirect, RefusesPlacesWithTwoReadings) {
  for (const std::string_view reference :
       {"http://127.0.0.1/", "//169.254.169.254/", "http://[::1]/", "http://localhost/",
        "http://2130706433/", "http://0x7f.1/", "https://u@x.y/", "https://x.y\\@z/", "/a\\b",
        "/%2e%2e/x", "/a b", "/a\tb", "javascript:x", "file:///etc/passwd", "data:,x", "https:x.y",
        "https:/x.y", "https://", "///x.y/"})
    EXPECT_FALSE(resolve_reference(url("https://a.b/c"), reference)) << reference;
  EXPECT_FALSE(resolve_reference(url("https://a.b/"), "/" + std::string(9000, 'x')));
}

TEST(FetchRedirect, ChangesTheMethodAsBrowsersDo) {
  const std::tuple<const char*, unsigned, const char*> rows[] = {
      {"POST", 301, "GET"},  {"POST", 302, "GET"},      {"POST", 303, "GET"}, {"POST", 307, "POST"},
      {"POST", 308, "POST"}, {"PUT", 301, "PUT"},       {"PUT", 303, "GET"},  {"HEAD", 303, "HEAD"},
      {"HEAD", 302, "HEAD"}, {"DELETE", 307, "DELETE"}, {"GET", 301, "GET"}};
  for (const auto& [method, status, then] : rows) {
    FetchRequest request = post();
    request.method = method;
    const auto next = follow(request, redirect(status, "/x"));
    ASSERT_TRUE(next && *next);
    EXPECT_EQ((*next)->method, then) << method << status;
    EXPECT_EQ((*next)->body.has_value(),
              then != std::string_view("GET") || method == (*next)->method)
        << method << status;
  }
  const auto next = follow(post(), redirect(303, "/x"));
  EXPECT_THAT((*next)->headers, ElementsAre(Pair("Authorization", "x"), Pair("Accept", "a/b")));
}

TEST(FetchRedirect, TellsAnotherHostNothingAboutWhoAsks) {
  for (const char* place : {"https://x.y/", "https://a.b:8443/"}) {
    const auto next = follow(post(), redirect(307, place));
    ASSERT_TRUE(next && *next);
    EXPECT_THAT((*next)->headers,
                ElementsAre(Pair("Content-Type", "text/plain"), Pair("Accept", "a/b")));
  }
  const auto next = follow(post(), redirect(307, "https://A.B:443/x"));
  EXPECT_EQ((*next)->headers.size(), 3U) << "the same host";
}

TEST(FetchRedirect, IsNoneOfOtherAnswers) {
  for (const unsigned status : {200U, 201U, 300U, 304U, 305U, 306U, 404U}) {
    const auto next = follow(post(), redirect(status, "/x"));
    ASSERT_TRUE(next);
    EXPECT_FALSE(*next) << status;
  }
  EXPECT_FALSE(*follow(post(), ResponseHead{.line = "", .status = 302, .fields = {}}));
  EXPECT_FALSE(follow(post(), redirect(302, "http://a.b/"))) << "from https to http";
  ResponseHead two = redirect(302, "/x");
  two.fields.emplace_back("location", "/y");
  EXPECT_FALSE(follow(post(), two));
}

TEST(FetchRequest, IsWrittenOnce) {
  EXPECT_THAT(request_text(post()),
              AllOf(StartsWith("POST /c/d?e HTTP/1.1\r\nHost: a.b\r\nConnection: close\r\n"),
                    HasSubstr("\r\nAccept-Encoding: identity\r\n"),
                    HasSubstr("\r\nContent-Length: 4\r\n\r\nbody"), Not(HasSubstr("Accept: */*"))));
  EXPECT_THAT(request_text({"GET", url("http://a.b:8080/"), {}, {}}),
              AllOf(StartsWith("GET / HTTP/1.1\r\nHost: a.b:8080\r\n"),
                    HasSubstr("\r\nAccept: */*\r\n\r\n"), Not(HasSubstr("Content-Length"))));
}

}  // namespace
}  // namespace sallyport
