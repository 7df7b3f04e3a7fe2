#include "tool/request_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/rules_fixture.h"

namespace sallyport {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

Tool tool(std::string url, json::value body = nullptr,
          std::map<std::string, std::string> headers = {}) {
  Tool made;
  made.name = "t";
  made.kind = ToolKind::http;
  made.http = {.method = "POST",
               .url = std::move(url),
               .headers = std::move(headers),
               .body = std::move(body)};
  made.args = {argument("x", "{}"), argument("y", "{}")};
  made.args[1].optional = true;
  return made;
}

std::string url_of(std::string url, json::object arguments) {
  const auto filled = fill_request(tool(std::move(url)), arguments);
  return filled ? filled->url : "refused: " + filled.error().message;
}

TEST(RequestTemplate, EncodesAValueAsOnePartOfTheUrl) {
  const std::tuple<const char*, json::value, const char*> rows[] = {
      {"https://a.b/{x}", "c", "https://a.b/c"},
      {"https://a.b/{x}/d", "a/b?c#d&e=f%", "https://a.b/a%2Fb%3Fc%23d%26e%3Df%25/d"},
      {"https://a.b/v-{x}.json", 5, "https://a.b/v-5.json"},
      {"https://a.b/?q={x}", "a&b=c +/?é", "https://a.b/?q=a%26b%3Dc%20%2B%2F%3F%C3%A9"},
      {"https://a.b?q={x}", "", "https://a.b/?q="},
      {"https://a.b/?q={x}", true, "https://a.b/?q=true"},
      {"https://a.b/?q={x}", json::array{1, "b"}, "https://a.b/?q=%5B1%2C%22b%22%5D"},
      {"https://a.b/?q={x}&r={y}&s=t", "1", "https://a.b/?q=1&s=t"},
      {"https://a.b/?r={y}", "1", "https://a.b/"},
      {"https://a.b:8443/{x}", "@evil.org", "https://a.b:8443/%40evil.org"},
      {"https://a.b/{x}", "{y}", "https://a.b/%7By%7D"},
      {"https://a.b/?q={arguments}", 1, "https://a.b/?q=%7B%22x%22%3A1%7D"},
  };
  for (const auto& [pattern, value, whole] : rows)
    EXPECT_EQ(url_of(pattern, {{"x", value}}), whole) << pattern;
}

TEST(RequestTemplate, LeavesNoWayOutOfThePath) {
  for (const char* value : {"", ".", "..", "%2e%2e", "%252e", "../..", "a/../b", "..;x", "..\\b",
                            "a\r\nb", "a\x01", "\x7F"})
    EXPECT_THAT(url_of("https://a.b/c/{x}/d", {{"x", value}}), testing::StartsWith("refused: "))
        << value;
  EXPECT_THAT(url_of("https://a.b/c/.{x}", {{"x", "."}}), testing::StartsWith("refused: "));
  EXPECT_THAT(url_of("https://a.b/{y}", {}), testing::StartsWith("refused: ")) << "missing";
  EXPECT_THAT(url_of("https://a.b/?q=a{y}", {}), testing::StartsWith("refused: "));
}

TEST(RequestTemplate, KeepsTheTypeOfAValueThatIsAPlaceholder) {
  const json::value body =
      parse_json(
          R"({"a":"{x}","b":"n {x}","c":["{x}","{y}",1],"d":{"e":"{y}","f":"{{x}}"},"g":null})")
          .value();
  const auto filled = fill_request(tool("https://a.b/", body), {{"x", json::object{{"k", 1.5}}}});
  ASSERT_TRUE(filled);
  EXPECT_EQ(*filled->body,
            R"({"a":{"k":1.5},"b":"n {\"k\":1.5}","c":[{"k":1.5},1],"d":{"f":"{x}"},"g":null})");
  EXPECT_EQ(fill_request(tool("https://a.b/", "{arguments}"), {{"x", 1}})->body, R"({"x":1})");
  EXPECT_EQ(fill_request(tool("https://a.b/"), {{"x", 1}})->body, std::nullopt);
  const auto quoted_text =
      fill_request(tool("https://a.b/", json::object{{"a", "-{x}-"}}), {{"x", "\",\"b\":\"c"}});
  EXPECT_EQ(*quoted_text->body, R"({"a":"-\",\"b\":\"c-"})");
}

TEST(RequestTemplate, MakesHeadersOfOneLine) {
  const Tool made = tool("https://a.b/", nullptr, {{"A", "v-{x}"}, {"B", "{y}"}, {"C", "c"}});
  EXPECT_THAT(fill_request(made, {{"x", 1}})->headers,
              ElementsAre(Pair("A", "v-1"), Pair("C", "c")));
  for (const char* value : {"a\r\nX: y", "a\nb", "é", "a\x01"})
    EXPECT_FALSE(fill_request(made, {{"x", value}})) << value;
  EXPECT_THAT(fill_request(tool("https://a.b/"), {})->headers, IsEmpty());
}

}  // namespace
}  // namespace sallyport
