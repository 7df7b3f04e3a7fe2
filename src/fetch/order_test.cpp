#include "fetch/order.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace sallyport {
namespace {

FetchOrder full_order() {
  return {.method = "POST",
          .url = "https://a.b/c",
          .headers = {{"Accept", "text/html"}, {"X-A", ""}},
          .body = "b\n\"",
          .form = FetchForm::json,
          .readable = true,
          .most_bytes = 1,
          .max_answer = 2,
          .redirects = 3,
          .milliseconds = 4,
          .allowed = {"https://a.b"}};
}

TEST(FetchOrder, ComesBackAsItWas) {
  for (const FetchOrder& order : {FetchOrder{.url = "x"}, full_order()}) {
    const auto read = parse_fetch_order(to_text(order));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, order);
  }
}

TEST(FetchOrder, IsWholeOrRefused) {
  const json::object whole = parse_json(to_text(full_order()))->as_object();
  for (const auto& member : whole) {
    json::object other = whole;
    other[member.key()] = json::object();
    EXPECT_FALSE(parse_fetch_order(json::serialize(other))) << member.key();
    if (member.key() == "body") continue;
    other.erase(member.key());
    EXPECT_FALSE(parse_fetch_order(json::serialize(other))) << member.key();
  }
  for (const auto& [key, value] :
       std::initializer_list<std::pair<const char*, json::value>>{{"method", "GET /x"},
                                                                  {"method", ""},
                                                                  {"form", "other"},
                                                                  {"most_bytes", -1},
                                                                  {"redirects", 5'000'000'000},
                                                                  {"headers", {{"Host", "x"}}},
                                                                  {"headers", {{"A", "b\r\nC: d"}}},
                                                                  {"headers", {{"A"}}},
                                                                  {"allowed", {1}}}) {
    json::object other = whole;
    other[key] = value;
    EXPECT_FALSE(parse_fetch_order(json::serialize(other))) << key << value;
  }
  EXPECT_FALSE(parse_fetch_order("[]"));
  EXPECT_FALSE(parse_fetch_order(""));
}

TEST(FetchOrder, HasHeadersOfOneLineAndNoneOfTheConnection) {
  for (const auto& [name, value] : std::initializer_list<std::pair<const char*, const char*>>{
           {"Accept", "a/b; q=0.1"}, {"X-a_b", ""}, {"Authorization", "Bearer x"}})
    EXPECT_TRUE(check_fetch_header(name, value)) << name;
  for (const char* name :
       {"", "A B", "A:", "A\r\nB", "Ä", "Host", "hOST", "Content-Length", "Transfer-Encoding",
        "Connection", "Keep-Alive", "TE", "Trailer", "Upgrade", "Expect", "Proxy-Connection",
        "proxy-authorization", "Accept-Encoding"})
    EXPECT_FALSE(check_fetch_header(name, "x")) << name;
  for (const char* value : {"a\r\nB: c", "a\nb", "a\rb", "a\x01", "\x7F", "ä"})
    EXPECT_FALSE(check_fetch_header("A", value)) << value;
  EXPECT_FALSE(check_fetch_header("A", std::string(9000, 'a')));
  EXPECT_FALSE(check_fetch_header("A", std::string_view("a\0b", 3)));
}

}  // namespace
}  // namespace sallyport
