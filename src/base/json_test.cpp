#include "base/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>

namespace sallyport {
namespace {

using testing::HasSubstr;

std::string nested(std::size_t depth, std::string_view open = "[", std::string_view close = "]") {
  std::string text;
  for (std::size_t i = 0; i < depth; ++i)
    text += open;
  for (std::size_t i = 0; i < depth; ++i)
    text += close;
  return text;
}

std::string message_of(std::string_view text) {
  const auto value = parse_json(text);
  EXPECT_FALSE(value) << text;
  if (value) return {};
  EXPECT_EQ(value.error().reason, Reason::argument);
  EXPECT_FALSE(value.error().hint.empty()) << text;
  return value.error().message;
}

json::value parsed(std::string_view text) {
  auto value = parse_json(text);
  EXPECT_TRUE(value) << text << ": " << (value ? "" : value.error().message);
  return value.value_or(json::value());
}

TEST(JsonGuard, ReadsEveryKindOfValue) {
  EXPECT_EQ(parsed(R"( {"a": [1, -2.5, true, false, null, "x\n\u00e9\ud83d\ude00"], "b": {}} )"),
            json::parse(R"({"a": [1, -2.5, true, false, null, "x\né😀"], "b": {}})"));
}

TEST(JsonGuard, RefusesAKeyThatIsGivenTwiceHoweverItIsWritten) {
  for (const std::string_view text :
       {R"({"a":1,"a":2})", R"({"a":1,"\u0061":2})", R"({"a":1,"b":{"c":0,"c":0}})",
        R"([{"x":[{"a":1,"a":1}]}])", R"({"":1,"":2})", R"({"a":{"q":1},"a":{"q":2}})",
        R"({"\u0000":1,"\u0000":2})", R"({"\ud83d\ude00":1,"😀":2})",
        R"({"__proto__":1,"__proto__":2})", R"({"\/":1,"/":2})"})
    EXPECT_THAT(message_of(text), HasSubstr("is given twice"));
}

TEST(JsonGuard, NamesTheKeyAndThePlaceOfTheSecond) {
  EXPECT_THAT(message_of("{\"a\": 1,\n \"b\": 2,\n  \"\\u0061\": 3}"),
              testing::AllOf(HasSubstr("'a'"), HasSubstr("line 3, column 3")));
  EXPECT_THAT(message_of(R"({"a\"b": 1, "a\"b": 2})"), HasSubstr("line 1, column 13"));
}

TEST(JsonGuard, FindsADuplicateAmongManyKeys) {
  std::string text = "{";
  for (int i = 0; i < 10'000; ++i)
    text += "\"key" + std::to_string(i) + "\":" + std::to_string(i) + ",";
  EXPECT_TRUE(parse_json(text + "\"last\":1}"));
  EXPECT_THAT(message_of(text + "\"key7777\":1}"), HasSubstr("'key7777'"));
}

TEST(JsonGuard, TakesKeysThatOnlyLookAlike) {
  EXPECT_EQ(parsed(R"({"a":1,"A":2,"a ":3,"a\u0000":4,"__proto__":5,"":6})").as_object().size(),
            6U);
}

TEST(JsonGuard, AllowsADepthOf64AndNoMore) {
  EXPECT_TRUE(parse_json(nested(64)));
  EXPECT_THAT(message_of(nested(65)), HasSubstr("nested deeper than 64"));
  EXPECT_THAT(message_of(std::string(1'000'000, '[')), HasSubstr("nested deeper than 64"));
  std::string objects = "1";
  for (int i = 0; i < 64; ++i)
    objects = "{\"a\":" + objects + "}";
  EXPECT_TRUE(parse_json(objects));
  EXPECT_THAT(message_of("[" + objects + "]"), HasSubstr("nested deeper than 64"));
  EXPECT_FALSE(parse_json("[[1]]", {.max_depth = 1}));
}

TEST(JsonGuard, RefusesNumbersThatNoDoubleHolds) {
  for (const std::string_view text : {"1e400", "-1e400", "1e-400", "1.7976931348623159e308",
                                      "1e99999999999999999999", "[1, 2e999]", "123456789e9999999"})
    EXPECT_THAT(message_of(text), HasSubstr("a double can hold")) << text;
  for (const std::string_view text :
       {"NaN", "Infinity", "-Infinity", "+1", "01", "1.", ".5", "0x10", "1e", "-", "--1", "1_000"})
    EXPECT_THAT(message_of(text), HasSubstr("line 1")) << text;
  EXPECT_EQ(parsed("1.7976931348623157e308").as_double(), std::numeric_limits<double>::max());
  EXPECT_EQ(parsed("5e-324").as_double(), std::numeric_limits<double>::denorm_min());
}

TEST(JsonGuard, RefusesIntegersPast64Bits) {
  EXPECT_EQ(parsed("9223372036854775807").as_int64(), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(parsed("-9223372036854775808").as_int64(), std::numeric_limits<std::int64_t>::min());
  for (const std::string_view text :
       {"9223372036854775808", "-9223372036854775809", "18446744073709551615",
        "18446744073709551616", "123456789012345678901234567890",
        "-123456789012345678901234567890"})
    EXPECT_THAT(message_of(text), HasSubstr("does not fit into 64 bits")) << text;
}

TEST(JsonGuard, ReadsTheNearestDouble) {
  for (const char* text :
       {"0.1", "1.1", "2.2250738585072011e-308", "9007199254740993.0", "123456.7890123456789",
        "3.141592653589793238462643383279", "1e23", "8.41e21", "0.000001234567890123456789",
        "179769313486231580793e288", "1.00000000000000011102230246251565404"})
    EXPECT_EQ(parsed(text).as_double(), std::strtod(text, nullptr)) << text;
  EXPECT_TRUE(std::signbit(parsed("-0.0").as_double()));
  EXPECT_EQ(parsed("-0").as_int64(), 0);
}

TEST(JsonGuard, RefusesWhatIsNotUtf8) {
  for (const std::string_view bytes :
       {"\"\xff\"", "\"\xc3\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"",
        "\"\xe2\x82\"", "\"\xf8\x88\x80\x80\x80\"", "{\"\x80\":1}"})
    EXPECT_THAT(message_of(bytes), HasSubstr("line 1"));
}

TEST(JsonGuard, RefusesHalfASurrogatePair) {
  for (const std::string_view text :
       {R"("\ud800")", R"("\udc00")", R"("\ud800\ud800")", R"("\ud83dx")", R"({"\ud83d":1})"})
    EXPECT_THAT(message_of(text), HasSubstr("line 1"));
}

TEST(JsonGuard, RefusesEverythingButOneValue) {
  for (const std::string_view text :
       {"", " \n", "1 2", "{} x", "{}}", "[1,]", "{\"a\":1,}", "// c\n1", "/* c */ 1", "{'a':1}",
        "{a:1}", "nul", "\"a", "[", "{\"a\"", "\xEF\xBB\xBF{}", "\"a\tb\"", "\"\\x41\"", "tru e"})
    EXPECT_FALSE(parse_json(text)) << text;
  using namespace std::literals;
  EXPECT_FALSE(parse_json("1\0"sv));
  EXPECT_FALSE(parse_json("\"a\0b\""sv));
  EXPECT_THAT(message_of("{}\n {}"), HasSubstr("line 2, column 2"));
}

TEST(JsonGuard, RefusesATextThatIsTooLong) {
  EXPECT_TRUE(parse_json("\"abc\"", {.max_bytes = 5}));
  EXPECT_FALSE(parse_json("\"abcd\"", {.max_bytes = 5}));
}

TEST(CanonicalJson, DependsOnTheValueAlone) {
  EXPECT_EQ(
      canonical_json(parsed(
          R"({ "b" : [ 1 , 1.0, 0.1, 1e300, -0.0 ], "a": "\u0041/\n\u001f\"\\", "": null })")),
      R"({"":null,"a":"A/\u000a\u001f\"\\","b":[1,1.0,0.1,1e+300,-0.0]})");
  EXPECT_EQ(canonical_json(parsed(R"({"é":1,"z":2,"Z":3})")), R"({"Z":3,"z":2,"é":1})");
  EXPECT_EQ(canonical_json(parsed("{\"x\":1,\"y\":{}, \"w\":[]}")),
            canonical_json(parsed("{\"w\":[],\"y\":{},\"x\":1}")));
}

// A value made of the bytes of a generator.
json::value random_value(std::mt19937_64& random, int depth) {
  switch (random() % (depth > 0 ? 8 : 6)) {
    case 0:
      return nullptr;
    case 1:
      return random() % 2 == 0;
    case 2:
      return static_cast<std::int64_t>(random());
    case 3: {
      const std::uint64_t bits = random();
      double number = 0;
      std::memcpy(&number, &bits, sizeof number);
      return std::isfinite(number) ? json::value(number) : json::value(0.5);
    }
    case 4:
      return static_cast<double>(static_cast<std::int64_t>(random() % 2000) - 1000);
    case 5: {
      std::string text;
      for (std::uint64_t i = random() % 8; i > 0; --i)
        text += std::array{"a", "\"", "\\", "\n", "é", "😀", "\x01", "/"}[random() % 8];
      return json::value(text);
    }
    case 6: {
      json::array array;
      for (std::uint64_t i = random() % 4; i > 0; --i)
        array.push_back(random_value(random, depth - 1));
      return array;
    }
    default: {
      json::object object;
      for (std::uint64_t i = random() % 4; i > 0; --i)
        object["k" + std::to_string(random() % 9)] = random_value(random, depth - 1);
      return object;
    }
  }
}

TEST(CanonicalJson, ReadsBackAsTheSameValue) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 3000; ++i) {
    const json::value value = random_value(random, 5);
    const std::string text = canonical_json(value);
    const auto back = parse_json(text);
    ASSERT_TRUE(back) << text;
    EXPECT_TRUE(json_equal(*back, value)) << text;
    EXPECT_EQ(json_hash(*back), json_hash(value)) << text;
    EXPECT_EQ(canonical_json(*back), text);
  }
}

TEST(JsonNumbers, CompareByTheirExactValues) {
  const auto less = [](std::string_view a, std::string_view b) {
    EXPECT_TRUE(compare_numbers(parsed(a), parsed(b)) < 0) << a << " < " << b;
    EXPECT_TRUE(compare_numbers(parsed(b), parsed(a)) > 0) << b << " > " << a;
    EXPECT_FALSE(json_equal(parsed(a), parsed(b))) << a << " = " << b;
  };
  less("1", "1.5");
  less("-1.5", "-1");
  less("9007199254740992.0", "9007199254740993");
  less("9223372036854775807", "9223372036854775808.0");
  less("-9223372036854775808", "-9223372036854775807");
  less("9223372036854775807", "1e300");
  less("-1e300", "-9223372036854775808");
  less("0", "5e-324");
  for (const auto& [a, b] : {std::pair{"1", "1.0"},
                             {"0", "-0.0"},
                             {"100", "1e2"},
                             {"-9223372036854775808", "-9223372036854775808.0"}}) {
    EXPECT_TRUE(json_equal(parsed(a), parsed(b))) << a << " = " << b;
    EXPECT_EQ(json_hash(parsed(a)), json_hash(parsed(b)));
  }
  EXPECT_TRUE(
      compare_numbers(json::value(std::uint64_t{1} << 63), parsed("9223372036854775808.0")) == 0);
}

TEST(JsonEquality, IsThatOfJsonSchema) {
  EXPECT_TRUE(json_equal(parsed(R"({"a":[1,{"b":2.0}],"c":null})"),
                         parsed(R"({"c":null,"a":[1.0,{"b":2}]})")));
  for (const auto& [a, b] : {std::pair{"true", "1"},
                             {"false", "0"},
                             {"null", "0"},
                             {"\"1\"", "1"},
                             {"[]", "{}"},
                             {"[1,2]", "[2,1]"},
                             {"{\"a\":1}", "{\"a\":1,\"b\":2}"},
                             {"{\"a\":1}", "{\"b\":1}"},
                             {"\"a\"", "\"a\\u0000\""}})
    EXPECT_FALSE(json_equal(parsed(a), parsed(b))) << a << " = " << b;
}

TEST(PlainJson, HasFiniteNumbersAndABoundedDepth) {
  EXPECT_TRUE(is_plain_json(parsed(nested(64)), 64));
  EXPECT_FALSE(is_plain_json(parsed(nested(64)), 63));
  EXPECT_TRUE(is_plain_json(json::value("x"), 0));
  EXPECT_FALSE(is_plain_json(json::array{{{"a", std::nan("")}}}, 64));
  EXPECT_FALSE(is_plain_json(json::value(std::numeric_limits<double>::infinity()), 64));
}

}  // namespace
}  // namespace sallyport
