// Laws that hold for any schema and any value, tried on many small ones.
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "input/schema.h"

namespace sallyport {
namespace {

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

  json::value value(int depth) {
    switch (below(depth > 0 ? 8 : 6)) {
      case 0:
        return nullptr;
      case 1:
        return below(2) == 0;
      case 2:
        return static_cast<std::int64_t>(below(5)) - 2;
      case 3:
        return static_cast<double>(below(9)) / 2 - 2;
      case 4:
      case 5:
        return json::value(word());
      case 6: {
        json::array array;
        for (std::uint64_t i = below(4); i > 0; --i)
          array.push_back(value(depth - 1));
        return array;
      }
      default: {
        json::object object;
        for (std::uint64_t i = below(4); i > 0; --i)
          object[word()] = value(depth - 1);
        return object;
      }
    }
  }

  json::value schema(int depth) {
    if (below(12) == 0) return below(3) > 0;
    json::object schema;
    for (std::uint64_t i = below(3) + 1; i > 0; --i)
      add_keyword(schema, depth);
    return schema;
  }

  void add_keyword(json::object& schema, int depth) {
    const auto sub = [&] {
      return depth > 0 ? this->schema(depth - 1) : json::value(below(3) > 0);
    };
    const auto count = [&] { return static_cast<std::int64_t>(below(3)); };
    switch (below(28)) {
      case 0:
        schema["type"] = kTypes[below(kTypes.size())];
        break;
      case 1:
        schema["const"] = value(1);
        break;
      case 2:
        schema["enum"] = json::array{value(1), value(0), value(0)};
        break;
      case 3:
        schema["minimum"] = count() - 1;
        break;
      case 4:
        schema["maximum"] = static_cast<double>(below(5)) / 2;
        break;
      case 5:
        schema["multipleOf"] = below(2) == 0 ? json::value(2) : json::value(0.5);
        break;
      case 6:
        schema["minLength"] = count();
        break;
      case 7:
        schema["maxLength"] = count();
        break;
      case 8:
        schema["pattern"] = below(2) == 0 ? "^a" : "b$";
        break;
      case 9:
        schema["minItems"] = count();
        break;
      case 10:
        schema["maxItems"] = count();
        break;
      case 11:
        schema["uniqueItems"] = true;
        break;
      case 12:
        schema["prefixItems"] = json::array{sub()};
        break;
      case 13:
        schema["items"] = sub();
        break;
      case 14:
        schema["contains"] = sub();
        break;
      case 15:
        schema["required"] = json::array{word()};
        break;
      case 16:
        schema["properties"] = json::object{{word(), sub()}};
        break;
      case 17:
        schema["patternProperties"] = json::object{{"^a", sub()}};
        break;
      case 18:
        schema["additionalProperties"] = sub();
        break;
      case 19:
        schema["propertyNames"] = sub();
        break;
      case 20:
        schema["unevaluatedProperties"] = sub();
        break;
      case 21:
        schema["unevaluatedItems"] = sub();
        break;
      case 22:
        schema["allOf"] = json::array{sub(), sub()};
        break;
      case 23:
        schema["anyOf"] = json::array{sub(), sub()};
        break;
      case 24:
        schema["oneOf"] = json::array{sub(), sub()};
        break;
      case 25:
        schema["not"] = sub();
        break;
      case 26:
        schema["dependentRequired"] = json::object{{word(), json::array{word()}}};
        break;
      default:
        schema["if"] = sub();
        schema["then"] = sub();
        schema["else"] = sub();
        break;
    }
  }

 private:
  std::string word() { return std::array{"a", "b", "ab", "é", ""}[below(5)]; }

  static constexpr std::array kTypes = {"null",  "boolean", "integer", "number",
                                        "array", "string",  "object"};
  std::mt19937_64 random_;
};

bool accepts(const json::value& schema, const json::value& instance) {
  const auto compiled = Schema::compile(schema);
  EXPECT_TRUE(compiled) << canonical_json(schema) << ": "
                        << (compiled ? "" : compiled.error().message);
  if (!compiled) return false;
  const bool accepted = compiled->accepts(instance);
  EXPECT_EQ(compiled->check(instance).empty(), accepted) << canonical_json(schema);
  return accepted;
}

json::object wrap(std::string_view keyword, json::value value) {
  return {{keyword, std::move(value)}};
}

TEST(SchemaLaws, CombinationsAgreeWithTheirParts) {
  Generator make(3);
  std::size_t accepted = 0;
  for (int i = 0; i < 300; ++i) {
    const json::value a = make.schema(2), b = make.schema(2), value = make.value(2);
    const bool in_a = accepts(a, value), in_b = accepts(b, value);
    accepted += in_a ? 1 : 0;
    const std::string what =
        canonical_json(a) + "\n" + canonical_json(b) + "\n" + canonical_json(value);
    EXPECT_EQ(accepts(wrap("allOf", json::array{a}), value), in_a) << what;
    EXPECT_EQ(accepts(wrap("allOf", json::array{a, b}), value), in_a && in_b) << what;
    EXPECT_EQ(accepts(wrap("anyOf", json::array{a, b}), value), in_a || in_b) << what;
    EXPECT_EQ(accepts(wrap("oneOf", json::array{a, b}), value), in_a != in_b) << what;
    EXPECT_EQ(accepts(wrap("not", a), value), !in_a) << what;
    EXPECT_EQ(accepts({{"if", a}, {"then", b}, {"else", false}}, value), in_a && in_b) << what;
    EXPECT_EQ(accepts({{"$ref", "#/$defs/a"}, {"$defs", {{"a", a}}}}, value), in_a) << what;
    EXPECT_EQ(accepts(wrap("items", a), json::array{value}), in_a) << what;
    EXPECT_EQ(accepts(wrap("contains", a), json::array{value}), in_a) << what;
    EXPECT_EQ(accepts(wrap("additionalProperties", a), json::object{{"x", value}}), in_a) << what;
    EXPECT_EQ(accepts(wrap("unevaluatedProperties", a), json::object{{"x", value}}), in_a) << what;
  }
  EXPECT_GT(accepted, 40U);  // the values are not all refused for nothing
  EXPECT_LT(accepted, 260U);
}

// Keywords that others look at (`if` and `contains` have companions, and `additionalProperties` and
// the like take what is left) are put into an allOf of their own.
TEST(SchemaLaws, OneMoreRuleNeverAcceptsMore) {
  Generator make(4);
  for (int i = 0; i < 600; ++i) {
    json::value schema = make.schema(2);
    if (!schema.is_object()) continue;
    const json::value value = make.value(2);
    const bool before = accepts(schema, value);
    json::object more;
    make.add_keyword(more, 1);
    if (before) continue;
    json::object both = schema.as_object();
    if (both.contains("unevaluatedProperties") || both.contains("unevaluatedItems")) continue;
    both["allOf"] = both.contains("allOf") ? json::array{wrap("allOf", both["allOf"]), more}
                                           : json::array{more};
    EXPECT_FALSE(accepts(both, value)) << canonical_json(both) << "\n" << canonical_json(value);
  }
}

TEST(SchemaLaws, AConstantAcceptsItselfHoweverItIsOrdered) {
  Generator make(5);
  for (int i = 0; i < 300; ++i) {
    const json::value value = make.value(3);
    const auto again = parse_json(canonical_json(value));
    ASSERT_TRUE(again);
    EXPECT_TRUE(accepts(wrap("const", value), *again)) << canonical_json(value);
    EXPECT_FALSE(accepts(wrap("not", wrap("enum", json::array{*again})), value));
  }
}

}  // namespace
}  // namespace sallyport
