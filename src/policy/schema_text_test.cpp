#include "policy/schema_text.h"

#include <gtest/gtest.h>

#include "policy/rules_fixture.h"

namespace sallyport {
namespace {

std::string sentence(std::string_view schema) {
  return schema_sentence(parse_json(schema)->as_object());
}

TEST(SchemaText, SimpleSchemasAreSentences) {
  EXPECT_EQ(sentence(R"({"type": "integer", "minimum": 1, "maximum": 500})"),
            "a whole number from 1 to 500");
  EXPECT_EQ(sentence(R"({"type": "number", "exclusiveMinimum": 0, "maximum": 1000})"),
            "a number of at most 1000, greater than 0");
  EXPECT_EQ(sentence(R"({"type": "string", "pattern": "^a+$", "maxLength": 9})"),
            "text of at most 9 characters that matches ^a+$");
  EXPECT_EQ(sentence(R"({"type": "integer", "enum": [123, 456, 789]})"), "one of 123, 456 or 789");
  EXPECT_EQ(sentence(R"({"const": "x"})"), R"(only "x")");
  EXPECT_EQ(sentence(R"({"type": "array", "maxItems": 3, "items": {"type": "boolean"}})"),
            "a list of at most 3 items, each true or false");
  EXPECT_EQ(sentence("{}"), "any JSON value");
  EXPECT_EQ(sentence(R"({"type": "string", "description": "x"})"), "text");
}

TEST(SchemaText, ASchemaWithMoreInItIsQuotedAndNotCutShort) {
  const std::string schema = R"({"type":"object","properties":{"a":{"type":"null"}}})";
  EXPECT_EQ(sentence(schema), "JSON that this schema accepts: " + schema);
  EXPECT_EQ(sentence(R"({"type": "integer", "maximum": 5, "not": {"const": 3}})"),
            R"(JSON that this schema accepts: {"type":"integer","maximum":5,"not":{"const":3}})");
}

TEST(SchemaText, ArgumentsSayWhatTheirTypeAddsToTheSchema) {
  Argument some = argument("x", R"({"type": "string"})");
  some.type = ArgumentType::string;
  EXPECT_EQ(argument_sentence(some), "text, at most 1000 characters; has to be given");
  some.dash = some.multiline = true;
  some.fallback = "a";
  EXPECT_EQ(argument_sentence(some),
            "text, at most 1000 characters, line ends allowed, may begin with '-' and so be taken "
            "for an option; \"a\" if left out");
  Argument path = argument("x", R"({"type": "string"})");
  path.type = ArgumentType::path;
  path.below = "/srv";
  path.optional = true;
  EXPECT_EQ(argument_sentence(path),
            "the path of something that exists below /srv on this machine; may be left out");
  Argument url = argument("x", R"({"type": "string"})");
  url.type = ArgumentType::url;
  url.schemes = {"https"};
  url.hosts = {host_pattern("a.example"), host_pattern("*.b.example")};
  EXPECT_EQ(argument_sentence(url),
            "a URL (https) of a.example or *.b.example, at most 1000 characters; has to be given");
}

}  // namespace
}  // namespace sallyport
