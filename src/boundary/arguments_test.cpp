#include "boundary/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/text.h"
#include "boundary/boundary_fixture.h"
#include "policy/load.h"

namespace sallyport {
namespace {

using testing::HasSubstr;

std::vector<Argument> declared(std::string_view args) {
  auto compiled = compile_arguments(object(args), "tools.t.args");
  if (compiled) return std::move(*compiled);
  ADD_FAILURE() << to_text(compiled.error().front());
  return {};
}

std::expected<json::object, ArgumentError> check(std::string_view args, const json::object& given) {
  return check_arguments(declared(args), given, {.tool = "t"});
}

struct Row {
  std::string_view args;
  std::string_view given;
  std::string_view expected;  // the checked value as JSON, or a part of the message
};

TEST(Arguments, PassAsDeclared) {
  const Row rows[] = {
      {R"({})", R"({})", R"({})"},
      {R"({"n": {"type": "integer"}})", R"({"n": 5})", R"({"n":5})"},
      {R"({"n": {"type": "integer"}})", R"({"n": 5.0})", R"({"n":5})"},
      {R"({"n": {"type": "integer", "default": 50}})", R"({})", R"({"n":50})"},
      {R"({"n": {"type": "integer", "optional": true}})", R"({})", R"({})"},
      {R"({"n": {"enum": [1, "a", null]}})", R"({"n": null})", R"({"n":null})"},
      {R"({"s": {"type": "string"}})", R"({"s": "größer 🙂"})", R"({"s":"größer 🙂"})"},
      {R"({"h": {"type": "host"}})", R"({"h": "API.Example.com"})", R"({"h":"api.example.com"})"},
      {R"({"u": {"type": "url"}})", R"({"u": "HTTPS://Example.com:443/a"})",
       R"({"u":"https://example.com/a"})"},
      {R"({"q": {"type": "sql_identifier"}})", R"({"q": "orders"})", R"({"q":"orders"})"},
      {R"({"c": {"type": "command"}})", R"({"c": "ls  'a b'"})", R"({"c":"ls 'a b'"})"},
      // The order is the declaration's, whatever the caller's was.
      {R"({"a": {"type": "integer"}, "b": {"type": "integer"}})", R"({"b": 2, "a": 1})",
       R"({"a":1,"b":2})"},
  };
  for (const Row& row : rows) {
    const auto checked = check(row.args, object(row.given));
    ASSERT_TRUE(checked) << row.given << ": " << checked.error().error.message;
    EXPECT_EQ(json::serialize(*checked), row.expected);
  }
}

TEST(Arguments, AreRefusedOtherwise) {
  const Row rows[] = {
      {R"({})", R"({"x": 1})", "has no argument"},
      {R"({"limit": {"type": "integer"}})", R"({"limt": 1})", "has no argument 'limt'"},
      {R"({"n": {"type": "integer"}})", R"({})", "is missing"},
      {R"({"n": {"type": "integer"}})", R"({"n": "5"})", "integer"},
      {R"({"n": {"type": "integer", "maximum": 500}})", R"({"n": 501})", "500"},
      {R"({"n": {"enum": [123, 456]}})", R"({"n": 999})", "argument n"},
      {R"({"s": {"type": "string"}})", R"({"s": "a\u0000b"})", "NUL"},
      {R"({"s": {"type": "string"}})", R"({"s": "a\u001bb"})", "argument s"},
      {R"({"s": {"type": "string"}})", R"({"s": "a\nb"})", "argument s"},
      {R"({"s": {"type": "string"}})", R"({"s": "a\u202eb"})", "argument s"},
      {R"({"s": {"type": "string", "pattern": "^ord_[0-9]+$"}})", R"({"s": "ord_1\n"})",
       "argument s"},
      {R"({"h": {"type": "host"}})", R"({"h": "2130706433"})", "argument h"},
      {R"({"h": {"type": "host", "hosts": ["*.example.com"]}})", R"({"h": "example.org"})",
       "not an allowed host"},
      {R"({"u": {"type": "url"}})", R"({"u": "https://a@evil.com/"})", "argument u"},
      {R"({"u": {"type": "url", "hosts": ["example.com"]}})",
       R"({"u": "https://example.com.evil.com/"})", "argument u"},
      {R"({"q": {"type": "sql_identifier"}})", R"({"q": "a; drop"})", "argument q"},
      {R"({"c": {"type": "command"}})", R"({"c": "ls; rm -rf /"})", "argument c"},
      {R"({"c": {"type": "command"}})", R"({"c": "env rm -rf /"})", "argument c"},
      {R"({"c": {"type": "command"}})", R"({"c": "bash -c id"})", "argument c"},
      {R"({"p": {"type": "path", "below": "/usr/share"}})", R"({"p": "../../etc/passwd"})",
       "argument p"},
      // The normal form is what runs, and has to be what the schema accepts.
      {R"({"h": {"type": "host", "not": {"enum": ["evil.example.com"]}}})",
       R"({"h": "EVIL.example.com"})", "argument h"},
      {R"({"u": {"type": "url", "not": {"pattern": "/admin"}}})",
       R"({"u": "https://example.com/%61dmin"})", "argument u"},
      {R"({"s": {"type": ["string", "null"]}})", R"({"s": "a\nb"})", "argument s"},
      {R"({"a": {"type": "array"}})", R"({"a": ["x\u0000"]})", "NUL"},
      {R"({"a": {"type": "object"}})", R"({"a": {"k\u0000": 1}})", "NUL"},
  };
  for (const Row& row : rows) {
    const auto checked = check(row.args, object(row.given));
    ASSERT_FALSE(checked) << row.given << " became " << json::serialize(*checked);
    EXPECT_EQ(checked.error().error.reason, Reason::argument);
    EXPECT_THAT(checked.error().error.message, HasSubstr(row.expected)) << row.given;
    EXPECT_THAT(checked.error().rule, testing::StartsWith("tools.t.args"));
  }
}

TEST(Arguments, HaveADefaultBoundOfAThousandCharacters) {
  const auto of = [](std::size_t n) { return json::object{{"s", std::string(n, 'x')}}; };
  EXPECT_TRUE(check(R"({"s": {"type": "string"}})", of(1000)));
  EXPECT_FALSE(check(R"({"s": {"type": "string"}})", of(1001)));
  EXPECT_TRUE(check(R"({"s": {"type": "string", "maxLength": 2000}})", of(1001)));
}

TEST(Arguments, OfHostProgramsAreGuardedLikeTexts) {
  const std::string_view any = R"({"v": {"type": ["number", "string", "array"], "maxLength": 10}})";
  json::value deep = 1;
  for (int i = 0; i < 70; ++i)
    deep = json::array{std::move(deep)};
  EXPECT_FALSE(check(any, {{"v", deep}}));
  EXPECT_FALSE(check(any, {{"v", std::numeric_limits<double>::infinity()}}));
  EXPECT_FALSE(check(any, {{"v", std::nan("")}}));
  EXPECT_FALSE(check(any, {{"v", std::numeric_limits<std::uint64_t>::max()}}));
  EXPECT_FALSE(check(any, {{"v", "\xff"}}));
  EXPECT_TRUE(check(any, {{"v", 1.5}}));
}

}  // namespace
}  // namespace sallyport
