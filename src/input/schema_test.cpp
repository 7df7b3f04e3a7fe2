#include "input/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <cmath>
#include <functional>
#include <thread>

#include "input/schema_metaschema.h"

namespace sallyport {
namespace {

using testing::HasSubstr;

json::value parsed(std::string_view text) {
  auto value = parse_json(text);
  EXPECT_TRUE(value) << text << ": " << (value ? "" : value.error().message);
  return value.value_or(json::value());
}

// A schema that accepts nothing stands in for one that does not compile, so that a test can go on.
Schema compile_value(const json::value& text, const SchemaOptions& options = {}) {
  auto schema = Schema::compile(text, options);
  EXPECT_TRUE(schema) << canonical_json(text) << ": " << (schema ? "" : schema.error().message);
  return schema ? *schema : *Schema::compile(false);
}

Schema compiled(std::string_view text, const SchemaOptions& options = {}) {
  return compile_value(parsed(text), options);
}

bool accepts(std::string_view schema, std::string_view instance) {
  return compiled(schema).accepts(parsed(instance));
}

std::string message_of(std::string_view schema, const SchemaOptions& options = {}) {
  const auto result = Schema::compile(parsed(schema), options);
  EXPECT_FALSE(result) << schema;
  if (result) return {};
  EXPECT_EQ(result.error().reason, Reason::argument) << schema;
  EXPECT_FALSE(result.error().hint.empty()) << schema;
  return result.error().message;
}

std::vector<std::string> lines_of(std::string_view schema, std::string_view instance) {
  std::vector<std::string> lines;
  for (const Violation& violation : compiled(schema).check(parsed(instance)))
    lines.push_back(violation.instance_place + " | " + violation.message + " | " +
                    violation.schema_place);
  return lines;
}

TEST(Schema, SaysWhatIsWrongAndWhere) {
  EXPECT_THAT(
      lines_of(R"({"type":"object","required":["name","age"],"additionalProperties":false,
                   "properties":{"name":{"type":"string","maxLength":3},"age":{"minimum":1},
                                 "a/b":{"items":{"enum":["x",1]}}}})",
               R"({"name":"long","a/b":["x",2],"extra":1})"),
      testing::ElementsAre(
          "/name | must have at most 3 characters, and has 4 | #/properties/name/maxLength",
          "/a~1b/1 | must be one of 'x', '1' | #/properties/a~1b/items/enum",
          "/extra | the property 'extra' is not one that is allowed | #/additionalProperties",
          " | lacks the property 'age', which is required | #/required"));
  EXPECT_THAT(lines_of(R"({"type":["string","null"]})", "1.0"),
              testing::ElementsAre(" | must be null or a string, and is an integer | #/type"));
}

TEST(Schema, TellsOfTheAlternativeThatTheValueIsAbout) {
  EXPECT_THAT(
      lines_of(R"({"anyOf":[{"type":"string"},{"type":"object","required":["a"]}]})", "{}"),
      testing::ElementsAre(" | matches none of the 2 alternatives | #/anyOf",
                           " | lacks the property 'a', which is required | #/anyOf/1/required"));
}

TEST(Schema, ReportsAtMostSixtyFourViolations) {
  json::array items;
  for (int i = 0; i < 1000; ++i)
    items.emplace_back("x");
  EXPECT_EQ(compiled(R"({"items":{"type":"null","maxLength":0}})").check(items).size(), 64U);
}

TEST(Schema, ShortensKeysThatAreLongInWhatItSays) {
  json::object object;
  for (const char* letter : {"a", "b", "c"})
    object[letter + std::string(100'000, 'x') + "é"] = 1;
  for (const Violation& violation : compiled(R"({"additionalProperties":false})").check(object))
    EXPECT_LT(violation.instance_place.size() + violation.message.size(), 1000U);
}

TEST(Schema, RefusesASchemaThatItsMetaschemaRefuses) {
  const std::pair<std::string_view, std::string_view> kRows[] = {
      {R"({"type":"strin"})", "#/type"},
      {R"({"type":[]})", "#/type"},
      {R"({"properties":{"a":{"minLength":-1}}})", "#/properties/a/minLength"},
      {R"({"properties":[]})", "#/properties"},
      {R"({"items":[{}]})", "#/items"},
      {R"({"required":"a"})", "#/required"},
      {R"({"required":["a","a"]})", "#/required"},
      {R"({"allOf":[]})", "#/allOf"},
      {R"({"not":1})", "#/not"},
      {R"({"$defs":{"unused":{"maximum":"1"}}})", "#/$defs/unused/maximum"},
      {R"({"multipleOf":0})", "#/multipleOf"},
      {R"({"$anchor":"a b"})", "#/$anchor"},
      {R"({"$id":"http://x/#a"})", "#/$id"},
      {R"({"enum":1})", "#/enum"},
      {R"({"uniqueItems":"yes"})", "#/uniqueItems"},
      {R"([])", "#"},
      {R"("string")", "#"}};
  for (const auto& [schema, place] : kRows)
    EXPECT_THAT(message_of(schema), HasSubstr("'" + std::string(place) + "'")) << schema;
}

TEST(Schema, RefusesADialectThatItDoesNotKnow) {
  EXPECT_THAT(message_of(R"({"$schema":"http://json-schema.org/draft-07/schema#"})"),
              HasSubstr("is not known"));
  EXPECT_THAT(message_of(R"({"$defs":{"a":{"$id":"http://x/a",
                             "$schema":"https://json-schema.org/draft/2019-09/schema"}}})"),
              HasSubstr("is not known"));
  EXPECT_TRUE(
      Schema::compile(parsed(R"({"$schema":"https://json-schema.org/draft/2020-12/schema#"})")));
}

TEST(Schema, FetchesNothing) {
  for (const std::string_view schema :
       {R"({"$ref":"http://localhost:1/x"})", R"({"$ref":"file:///etc/passwd"})",
        R"({"$ref":"other.json"})", R"({"$ref":"//x/y"})", R"({"$dynamicRef":"http://x/#meta"})"})
    EXPECT_THAT(message_of(schema), HasSubstr("not among the documents given")) << schema;
}

TEST(Schema, RefusesAReferenceThatLeadsNowhere) {
  for (const std::string_view schema :
       {R"({"$ref":"#/$defs/a"})", R"({"$ref":"#a"})", R"({"$ref":"#/a~2"})",
        R"({"allOf":[{}],"$ref":"#/allOf/00"})", R"({"allOf":[{}],"$ref":"#/allOf/1"})",
        R"({"allOf":[{}],"$ref":"#/allOf/-"})",
        R"({"properties":{"a":{"$ref":"#/type"}},"type":"object"})"})
    EXPECT_FALSE(Schema::compile(parsed(schema))) << schema;
  EXPECT_THAT(message_of(R"({"$ref":"#/%zz"})"), HasSubstr("is not a URI"));
}

TEST(Schema, ChecksWhatAReferenceReachesOutsideOfKnownKeywords) {
  EXPECT_FALSE(accepts(R"({"$ref":"#/x-mine/a","x-mine":{"a":{"type":"string"}}})", "1"));
  EXPECT_THAT(message_of(R"({"$ref":"#/x-mine/a","x-mine":{"a":{"type":1}}})"),
              HasSubstr("#/x-mine/a/type"));
}

TEST(Schema, RefusesNamesThatAreGivenTwice) {
  EXPECT_THAT(message_of(R"({"$defs":{"a":{"$anchor":"x"},"b":{"$anchor":"x"}}})"),
              HasSubstr("given twice"));
  EXPECT_THAT(message_of(R"({"$defs":{"a":{"$id":"http://x/y"},"b":{"$id":"http://x/y"}}})"),
              HasSubstr("given twice"));
}

TEST(Schema, NamesThePlaceOfAPatternThatRe2CannotMatch) {
  EXPECT_THAT(message_of(R"x({"properties":{"a":{"pattern":"^(?!x)"}}})x"),
              testing::AllOf(HasSubstr("#/properties/a/pattern"), HasSubstr("lookahead")));
  EXPECT_THAT(message_of(R"({"patternProperties":{"(a)\\1":{}}})"),
              testing::AllOf(HasSubstr("#/patternProperties/(a)"), HasSubstr("backreference")));
}

TEST(Schema, ReachesTheDocumentsThatAreGiven) {
  SchemaOptions options;
  options.documents = {
      {"https://x/base.json", parsed(R"({"$defs":{"n":{"type":"integer"}},"$ref":"other.json"})")},
      {"https://x/other.json", parsed(R"({"minimum":5})")},
      {"file:///unused", parsed(R"({"type":"nonsense"})")}};
  const Schema schema = compiled(
      R"({"allOf":[{"$ref":"https://x/base.json"},{"$ref":"https://x/base.json#/$defs/n"}]})",
      options);
  EXPECT_TRUE(schema.accepts(5));
  EXPECT_FALSE(schema.accepts(4));
  EXPECT_FALSE(schema.accepts(5.5));
  EXPECT_EQ(schema.check(4).at(0).schema_place, "https://x/other.json#/minimum");
  EXPECT_THAT(message_of(R"({"$ref":"file:///unused"})", options),
              HasSubstr("'file:///unused#/type'"));
}

TEST(Schema, ReadsTheVocabulariesOfADialect) {
  SchemaOptions options;
  options.documents = {
      {"https://x/requires-unknown", parsed(R"({"$vocabulary":{"https://x/v":true}})")},
      {"https://x/self", parsed(R"({"$schema":"https://x/self","$id":"https://x/self"})")},
      {"https://x/strict",
       parsed(R"({"$schema":"https://json-schema.org/draft/2020-12/schema","$dynamicAnchor":"meta",
                  "$ref":"https://json-schema.org/draft/2020-12/schema",
                  "propertyNames":{"not":{"const":"default"}}})")},
      {"https://x/loop1", parsed(R"({"$schema":"https://x/loop2"})")},
      {"https://x/loop2", parsed(R"({"$schema":"https://x/loop1"})")}};
  EXPECT_THAT(message_of(R"({"$schema":"https://x/requires-unknown"})", options),
              HasSubstr("which is not known"));
  EXPECT_TRUE(Schema::compile(parsed(R"({"$schema":"https://x/self"})"), options));
  EXPECT_FALSE(
      Schema::compile(parsed(R"({"$schema":"https://x/strict","items":{"default":1}})"), options));
  EXPECT_TRUE(Schema::compile(parsed(R"({"$schema":"https://x/strict","items":{"type":"null"}})"),
                              options));
  EXPECT_FALSE(Schema::compile(parsed(R"({"$schema":"https://x/loop1"})"), options));
}

TEST(Schema, HasEveryMetaschemaAndAcceptsEachOfThem) {
  for (const std::string_view name :
       {"schema", "meta/core", "meta/applicator", "meta/unevaluated", "meta/validation",
        "meta/meta-data", "meta/format-annotation", "meta/content"}) {
    const json::value* document =
        find_metaschema("https://json-schema.org/draft/2020-12/" + std::string(name));
    ASSERT_TRUE(document) << name;
    EXPECT_TRUE(
        compiled(R"({"$ref":"https://json-schema.org/draft/2020-12/schema"})").accepts(*document))
        << name;
  }
}

// Runs `work` on a stack of 1 MiB; of 8 MiB where a sanitizer makes every frame larger.
void on_small_stack(const std::function<void()>& work) {
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  constexpr std::size_t kStack = std::size_t{8} << 20;
#else
  constexpr std::size_t kStack = std::size_t{1} << 20;
#endif
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, kStack), 0);
  pthread_t thread{};
  const auto run = [](void* argument) -> void* {
    (*static_cast<const std::function<void()>*>(argument))();
    return nullptr;
  };
  ASSERT_EQ(
      pthread_create(&thread, &attributes, run, const_cast<void*>(static_cast<const void*>(&work))),
      0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  pthread_attr_destroy(&attributes);
}

// What cannot be evaluated within bounds is refused, also where something around it says "not".

TEST(SchemaBounds, RefuseAReferenceToItself) {
  for (const std::string_view schema :
       {R"({"$ref":"#"})", R"({"not":{"$ref":"#"}})", R"({"allOf":[{"$ref":"#"},{"$ref":"#"}]})",
        R"({"anyOf":[true,{"$ref":"#/$defs/a"}],"not":{"$ref":"#/$defs/a"},
            "$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}})",
        R"({"$dynamicAnchor":"x","$dynamicRef":"#x"})",
        R"({"if":{"$ref":"#"},"then":true,"else":true})",
        R"({"dependentSchemas":{"a":{"$ref":"#"}}})"}) {
    const Schema looping = compiled(schema);
    for (const std::string_view instance : {R"({"a":1})"}) {
      EXPECT_FALSE(looping.accepts(parsed(instance))) << schema;
      const auto violations = looping.check(parsed(instance));
      ASSERT_FALSE(violations.empty()) << schema;
      EXPECT_THAT(violations.front().message, HasSubstr("without an end")) << schema;
    }
  }
}

// 64 levels of a value, each behind fifteen references: within all bounds but that of the stack.
TEST(SchemaBounds, LeaveRoomOnASmallStack) {
  std::string text = R"({"$ref":"#/$defs/r0","$defs":{)";
  for (int i = 0; i < 15; ++i)
    text += "\"r" + std::to_string(i) + R"(":{"allOf":[{"$ref":"#/$defs/r)" +
            std::to_string(i + 1) + "\"}]},";
  const Schema schema =
      compiled(text + R"("r15":{"unevaluatedProperties":false,"properties":{"a":{"$ref":"#"}}}}})");
  std::string value = "1";
  for (int i = 0; i < 64; ++i)
    value = R"({"a":)" + value + "}";
  const json::value instance = parsed(value);
  on_small_stack([&] { EXPECT_FALSE(schema.check(instance).empty()); });
}

TEST(SchemaBounds, LetARecursiveSchemaFollowTheValue) {
  const Schema tree = compiled(R"({"type":"object","properties":{"next":{"$ref":"#"}},
                                   "unevaluatedProperties":false})");
  std::string text = "{}";
  for (int i = 0; i < 63; ++i)
    text = R"({"next":)" + text + "}";
  EXPECT_TRUE(tree.accepts(parsed(text)));
}

// Each level refers to the one below twice: 2^n evaluations of a schema of n lines.
std::string doubling(std::string_view keyword, int levels, std::string_view last) {
  std::string text = R"({"$ref":"#/$defs/l0","$defs":{)";
  for (int i = 0; i < levels; ++i) {
    const std::string next = R"({"$ref":"#/$defs/l)" + std::to_string(i + 1) + "\"}";
    text += "\"l" + std::to_string(i) + "\":{\"" + std::string(keyword) + "\":[" + next + "," +
            next + "]},";
  }
  return text + "\"l" + std::to_string(levels) + "\":" + std::string(last) + "}}";
}

TEST(SchemaBounds, RefuseWhatTakesTooManySteps) {
  SchemaOptions options;
  options.max_steps = 20'000;
  for (const auto& [keyword, last] :
       {std::pair{"allOf", "true"}, {"anyOf", "false"}, {"oneOf", "false"}}) {
    const Schema bomb = compiled(doubling(keyword, 40, last), options);
    EXPECT_FALSE(bomb.accepts(1)) << keyword;
    EXPECT_FALSE(bomb.check(1).empty());
    const std::string negated =
        R"({"not":{"$ref":"#/$defs/l0"},)" + doubling(keyword, 40, last).substr(21);
    EXPECT_FALSE(compiled(negated, options).accepts(1)) << negated;
  }
  EXPECT_TRUE(compiled(doubling("allOf", 5, "true")).accepts(1));
}

TEST(SchemaBounds, CountTheStepsOfOneCheckAlone) {
  SchemaOptions options;
  options.max_steps = 50;
  const Schema schema = compiled(R"({"items":{"type":"integer"}})", options);
  json::array items;
  for (int i = 0; i < 40; ++i)
    items.emplace_back(i);
  for (int i = 0; i < 10; ++i)
    EXPECT_TRUE(schema.accepts(items));
  for (int i = 0; i < 40; ++i)
    items.emplace_back(i);
  EXPECT_FALSE(schema.accepts(items));
  EXPECT_THAT(schema.check(items).at(0).message, HasSubstr("more steps"));
}

TEST(SchemaBounds, HoldForValuesThatNoParserMade) {
  json::value deep = 1;
  for (int i = 0; i < 65; ++i)
    deep = json::array{std::move(deep)};
  EXPECT_FALSE(compiled("true").accepts(deep));
  EXPECT_FALSE(compiled("{}").accepts(std::nan("")));
  EXPECT_FALSE(compiled(R"({"minimum":1})").accepts(std::nan("")));
  EXPECT_FALSE(compiled(R"({"not":{"type":"string"}})").accepts(HUGE_VAL));
  EXPECT_FALSE(Schema::compile(json::object{{"not", deep}}));
  EXPECT_FALSE(Schema::compile(json::object{{"minimum", std::nan("")}}));
}

TEST(SchemaBounds, CompareLongArraysByHash) {
  json::array items;
  for (int i = 0; i < 100'000; ++i)
    items.emplace_back(i);
  const Schema unique = compiled(R"({"uniqueItems":true})");
  EXPECT_TRUE(unique.accepts(items));
  items.emplace_back(50'000.0);
  EXPECT_FALSE(unique.accepts(items));

  // These share a hash, as they share their nearest double: each pair costs a step.
  json::array colliding;
  for (std::int64_t i = 0; i < 500; ++i)
    colliding.emplace_back((std::int64_t{1} << 62) + i);
  EXPECT_TRUE(compiled(R"({"uniqueItems":true})").accepts(colliding));
  SchemaOptions options;
  options.max_steps = 10'000;
  EXPECT_FALSE(compiled(R"({"uniqueItems":true})", options).accepts(colliding));
}

TEST(SchemaBounds, CountPatternsAgainstEveryKey) {
  json::object object;
  for (int i = 0; i < 10'000; ++i)
    object["key" + std::to_string(i)] = i;
  EXPECT_TRUE(compiled(R"({"patternProperties":{"^key[0-9]+$":{"type":"integer"}},
                           "additionalProperties":false})")
                  .accepts(object));
  object["kex"] = 1;
  EXPECT_FALSE(compiled(R"({"patternProperties":{"^key[0-9]+$":{"type":"integer"}},
                            "additionalProperties":false})")
                   .accepts(object));
  json::object patterns;
  for (int i = 0; i < 200; ++i)
    patterns["^x" + std::to_string(i)] = true;
  EXPECT_FALSE(compile_value(json::object{{"patternProperties", patterns}}).accepts(object));
}

TEST(Schema, ComparesNumbersExactly) {
  EXPECT_TRUE(accepts(R"({"const":1})", "1.0"));
  EXPECT_TRUE(accepts(R"({"const":0})", "-0.0"));
  EXPECT_TRUE(accepts(R"({"type":"integer"})", "1e3"));
  EXPECT_FALSE(accepts(R"({"const":9007199254740993})", "9007199254740992.0"));
  EXPECT_FALSE(accepts(R"({"maximum":9007199254740992.0})", "9007199254740993"));
  EXPECT_TRUE(accepts(R"({"maximum":9007199254740993})", "9007199254740992.0"));
  EXPECT_FALSE(accepts(R"({"exclusiveMaximum":9223372036854775807})", "9223372036854775807"));
  EXPECT_FALSE(accepts(R"({"uniqueItems":true})", "[1,1.0]"));
  EXPECT_FALSE(accepts(R"({"uniqueItems":true})", R"([{"a":1,"b":2},{"b":2.0,"a":1.0}])"));
  EXPECT_TRUE(accepts(R"({"uniqueItems":true})", "[1,true,\"1\",null,0,false,[],{}]"));
  EXPECT_FALSE(accepts(R"({"const":false})", "0"));
  EXPECT_FALSE(accepts(R"({"enum":[[false]]})", "[0]"));
}

TEST(Schema, CountsCharactersNotBytes) {
  EXPECT_TRUE(accepts(R"({"maxLength":2})", R"("😀😀")"));
  EXPECT_FALSE(accepts(R"({"maxLength":2})", R"("😀😀a")"));
  EXPECT_FALSE(accepts(R"({"minLength":3})", R"("😀😀")"));
  EXPECT_TRUE(accepts(R"({"maxLength":1e30,"minLength":1.0})", R"("é")"));
  EXPECT_FALSE(accepts(R"({"minLength":1e30})", R"("é")"));
}

TEST(Schema, TakesNoNameForSpecial) {
  const std::string_view schema =
      R"({"properties":{"__proto__":{"type":"string"},"constructor":{"type":"string"},"":{"type":"string"},
          "a\u0000":{"type":"string"}},"required":["toString"],"additionalProperties":false})";
  EXPECT_FALSE(accepts(schema, "{}"));
  EXPECT_FALSE(accepts(schema, R"({"toString":1})"));
  const std::string_view open =
      R"({"properties":{"__proto__":{"type":"string"},"":{"type":"string"},"a\u0000":{"type":"string"}}})";
  EXPECT_FALSE(accepts(open, R"({"__proto__":1})"));
  EXPECT_FALSE(accepts(open, R"({"":1})"));
  EXPECT_FALSE(accepts(open, R"({"a\u0000":1})"));
  EXPECT_TRUE(accepts(open, R"({"a":1})"));
  EXPECT_FALSE(accepts(R"({"propertyNames":{"pattern":"^[a-z]+$"}})", R"({"a\u0000":1})"));
}

TEST(Schema, SeesUnevaluatedPropertiesAcrossADynamicReference) {
  const Schema strict = compiled(R"({
    "$id":"https://x/strict","$dynamicAnchor":"node","$ref":"tree","unevaluatedProperties":false,
    "$defs":{"tree":{"$id":"tree","$dynamicAnchor":"node","properties":{"value":true,
             "children":{"items":{"$dynamicRef":"#node"}}}}}})");
  EXPECT_TRUE(strict.accepts(parsed(R"({"value":1,"children":[{"value":2,"children":[]}]})")));
  EXPECT_FALSE(strict.accepts(parsed(R"({"value":1,"children":[{"valeu":2}]})")));
  EXPECT_FALSE(strict.accepts(parsed(R"({"value":1,"children":[{"children":[{"x":1}]}]})")));
}

TEST(Schema, ForgetsWhatAFailedAlternativeHasEvaluated) {
  const std::string_view schema =
      R"({"anyOf":[{"properties":{"a":{"type":"integer"},"b":true},"required":["c"]},{"properties":{"a":true}}],
          "unevaluatedProperties":false})";
  EXPECT_TRUE(accepts(schema, R"({"a":1})"));
  EXPECT_FALSE(accepts(schema, R"({"a":1,"b":1})"));
  EXPECT_FALSE(accepts(R"({"not":{"not":{"properties":{"a":true}}},"unevaluatedProperties":false})",
                       R"({"a":1})"));
  EXPECT_FALSE(accepts(R"({"if":{"properties":{"a":{"const":1}},"required":["a"]},
                           "unevaluatedProperties":false})",
                       R"({"a":2})"));
  json::object many;
  for (int i = 0; i < 200; ++i)
    many["p" + std::to_string(i)] = i;
  const Schema pattern =
      compiled(R"({"allOf":[{"patternProperties":{"^p":true}}],"unevaluatedProperties":false})");
  EXPECT_TRUE(pattern.accepts(many));
  many["q"] = 1;
  EXPECT_FALSE(pattern.accepts(many));
}

TEST(Schema, TakesDependenciesOfOlderDraftsAtTheirWord) {
  const std::string_view schema =
      R"({"dependencies":{"a":["b"],"c":{"required":["d"]},"e":false}})";
  EXPECT_TRUE(accepts(schema, R"({"a":1,"b":1,"c":1,"d":1})"));
  EXPECT_FALSE(accepts(schema, R"({"a":1})"));
  EXPECT_FALSE(accepts(schema, R"({"c":1})"));
  EXPECT_FALSE(accepts(schema, R"({"e":1})"));
}

TEST(Schema, OutlivesTheTextItWasMadeOf) {
  auto text = std::make_unique<json::value>(
      parsed(R"({"properties":{"a":{"enum":["x",{"y":[1]}]}},"required":["a"]})"));
  const Schema schema = compile_value(*text);
  text.reset();
  const Schema copy = schema;
  EXPECT_TRUE(copy.accepts(parsed(R"({"a":{"y":[1]}})")));
  EXPECT_FALSE(copy.check(parsed(R"({"a":2})")).empty());
}

TEST(Schema, ChecksFromManyThreads) {
  const Schema schema =
      compiled(R"({"properties":{"a":{"pattern":"^(x|y)+$"}},"uniqueItems":true})");
  const json::value good = parsed(R"({"a":"xyxy"})"), bad = parsed(R"({"a":"xyz"})");
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int j = 0; j < 500; ++j) {
        EXPECT_TRUE(schema.accepts(good));
        EXPECT_EQ(schema.check(bad).size(), 1U);
      }
    });
}

TEST(SchemaErrors, NameATypeThatThereIsNotAndTheNearestOne) {
  struct Row {
    std::string_view schema, message, hint;
  };
  for (const Row& row :
       {Row{R"({"type":"objekt"})", "'#/type': there is no type 'objekt'",
            "did you mean 'object'?"},
        Row{R"({"properties":{"a":{"type":["string","nul"]}}})",
            "'#/properties/a/type': there is no type 'nul'", "did you mean 'null'?"},
        Row{R"({"type":3})", "there is no type 3", "the types are null, boolean, integer"},
        // A property of that name is no keyword.
        Row{R"({"properties":{"type":"x"}})", "must be a boolean or an object", "2020-12"}}) {
    const auto schema = Schema::compile(json::parse(row.schema));
    ASSERT_FALSE(schema) << row.schema;
    EXPECT_THAT(schema.error().message, testing::HasSubstr(std::string(row.message)));
    EXPECT_THAT(schema.error().hint, testing::HasSubstr(std::string(row.hint)));
  }
}

}  // namespace
}  // namespace sallyport
