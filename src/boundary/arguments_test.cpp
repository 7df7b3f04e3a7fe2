#include "boundary/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

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

// A directory of the host that a tool sees as /data, with something beside it.
class PathArguments : public testing::Test {
 protected:
  PathArguments() {
    char name[] = "/tmp/path_arguments_XXXXXX";
    EXPECT_NE(::mkdtemp(name), nullptr);
    host_ = name;
    std::filesystem::create_directories(host_ + "/public/sub");
    for (const char* file : {"/public/a.txt", "/public/sub/b.txt", "/secret.txt"})
      std::ofstream(host_ + file) << "x";
    std::filesystem::create_symlink("../secret.txt", host_ + "/public/link");
    std::filesystem::create_directory_symlink("..", host_ + "/public/up");
    FileRule rule;
    rule.host = host_ + "/public";
    rule.inside = "/data";
    files_.read.push_back(rule);
  }
  ~PathArguments() override { std::filesystem::remove_all(host_); }

  std::expected<json::object, ArgumentError> check_path(std::string_view path,
                                                        json::object more = {}) {
    more["type"] = "path";
    if (!more.contains("below")) more["below"] = host_ + "/public";
    auto args = compile_arguments({{"p", more}}, "tools.t.args");
    EXPECT_TRUE(args);
    return check_arguments(
        *args, {{"p", path}},
        {.tool = "t", .files = in_cell ? &files_ : nullptr, .touch_files = touch});
  }

  std::string value(std::string_view path, json::object more = {}) {
    const auto checked = check_path(path, std::move(more));
    if (!checked) return "refused: " + checked.error().error.message;
    return std::string(checked->at("p").as_string());
  }

  std::string host_;
  FileRules files_;
  bool in_cell = true, touch = true;
};

TEST_F(PathArguments, BecomeThePathThatTheToolSees) {
  for (const bool opened : {true, false}) {
    touch = opened;
    EXPECT_EQ(value("a.txt"), "/data/a.txt");
    EXPECT_EQ(value("/data/a.txt"), "/data/a.txt");
    EXPECT_EQ(value("sub/b.txt"), "/data/sub/b.txt");
    EXPECT_EQ(value("/data"), "/data");
    EXPECT_EQ(value("."), "/data");
    EXPECT_EQ(value("/data/new.txt", {{"exists", false}}), "/data/new.txt");
    const json::object deeper{{"below", host_ + "/public/sub"}};
    EXPECT_EQ(value("b.txt", deeper), "/data/sub/b.txt");
    EXPECT_EQ(value("/data/sub/b.txt", deeper), "/data/sub/b.txt");
    EXPECT_THAT(value("/data/a.txt", deeper), HasSubstr("refused: "));
  }
}

TEST_F(PathArguments, NeverLeadOutNorSayWhereTheHostHasThem) {
  for (const std::string& path :
       {std::string("../secret.txt"), std::string("/data/../secret.txt"),
        std::string("/etc/passwd"), std::string("/data-secret"), std::string("/data//a.txt"),
        std::string("link"), std::string("up/secret.txt"), std::string("/data/up/public/a.txt"),
        std::string("missing"), std::string("/data/missing/x"), std::string(""),
        std::string("/")}) {
    const auto checked = check_path(path);
    ASSERT_FALSE(checked) << path;
    const Error& error = checked.error().error;
    EXPECT_EQ(error.reason, Reason::argument) << path;
    EXPECT_THAT(error.message + error.hint, testing::Not(HasSubstr(host_))) << path;
  }
  EXPECT_THAT(check_path("/etc/passwd").error().error.hint, HasSubstr("'/data'"));
  // The host's own spelling is not one of the caller's: that it is right would be told by its
  // passing.
  const auto guessed = check_path(host_ + "/public/a.txt");
  ASSERT_FALSE(guessed);
  EXPECT_THAT(guessed.error().error.hint, testing::Not(HasSubstr(host_)));

  std::filesystem::rename(host_ + "/public", host_ + "/moved");
  const auto gone = check_path("a.txt");
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().error.reason, Reason::unavailable);
  EXPECT_THAT(gone.error().error.message, HasSubstr("'/data'"));
  EXPECT_THAT(gone.error().error.message + gone.error().error.hint, testing::Not(HasSubstr(host_)));
}

TEST_F(PathArguments, AreOnePathToTheSchemaInEitherSpelling) {
  const json::object only_a{{"enum", {"a.txt"}}};
  EXPECT_EQ(value("a.txt", only_a), "/data/a.txt");
  EXPECT_EQ(value("/data/a.txt", only_a), "/data/a.txt");
  const json::object no_sub{{"not", {{"pattern", "^sub/"}}}};
  EXPECT_THAT(value("sub/b.txt", no_sub), HasSubstr("refused"));
  EXPECT_THAT(value("/data/sub/b.txt", no_sub), HasSubstr("refused"));
  EXPECT_EQ(value("/data/a.txt", no_sub), "/data/a.txt");
}

TEST_F(PathArguments, OfAFunctionAreRelative) {
  in_cell = false;
  EXPECT_EQ(value("sub/b.txt"), "sub/b.txt");
  const auto absolute = check_path("/data/a.txt");
  ASSERT_FALSE(absolute);
  EXPECT_EQ(absolute.error().error.hint, "use a relative path");
}

}  // namespace
}  // namespace sallyport
