#include "base/object_text.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace sallyport {
namespace {

TEST(ObjectText, IsTheTextOfTheSameValue) {
  std::string text;
  ObjectText object(text);
  object.text("z", "a\n\"\\\x01 \u00fc");
  object.flag("b", true);
  ObjectText inner = object.object("c");
  inner.number("n", -7);
  inner.close();
  object.object("empty").close();
  object.number("d", std::uint64_t{18446744073709551615ULL});
  object.value("a", json::value{1.5, nullptr, {{"y", 2}, {"x", 1}}});
  object.value("t", "text");
  object.list("list", std::vector{1, 2}, [&](int item) { append_json_number(text, item); });
  object.list("none", std::vector<int>(), [](int) {});
  object.number(JsonKey::of("a \"b\"\n"), 1);
  object.number(JsonKey::of("a b"), 2);
  object.close();
  const json::value value{{"z", "a\n\"\\\x01 \u00fc"},
                          {"b", true},
                          {"c", {{"n", -7}}},
                          {"empty", json::object()},
                          {"d", std::uint64_t{18446744073709551615ULL}},
                          {"a", {1.5, nullptr, {{"y", 2}, {"x", 1}}}},
                          {"t", "text"},
                          {"list", {1, 2}},
                          {"none", json::array()},
                          {"a \"b\"\n", 1},
                          {"a b", 2}};
  EXPECT_EQ(text, json::serialize(value));
}

TEST(JsonText, IsWhatTheSerializerWritesForEveryByteAtEveryPlace) {
  for (int byte = 0; byte < 128; ++byte)
    for (std::size_t place = 0; place < 20; ++place) {
      std::string text(20, 'x');
      text[place] = static_cast<char>(byte);
      std::string out;
      append_json_text(out, text);
      EXPECT_EQ(out, json::serialize(json::value(text))) << byte << " at " << place;
    }
}

TEST(JsonText, IsWhatTheSerializerWritesForOtherCharactersAtEveryPlace) {
  for (const std::string_view other : {"\u00fc", "\u20ac", "\U0001F600"})
    for (const std::string_view beside : {"x", "\"", "\\", "\n"})
      for (std::size_t place = 0; place < 20; ++place) {
        const std::string text = std::string(place, 'x').append(other).append(beside);
        std::string out;
        append_json_text(out, text);
        EXPECT_EQ(out, json::serialize(json::value(text))) << text;
      }
}

TEST(JsonText, ReplacesWhatIsNotUtf8) {
  std::string out;
  append_json_text(out, "a\xff\"b");
  EXPECT_EQ(out, "\"a\xEF\xBF\xBD\\\"b\"");
  out.clear();
  append_json_text(out, "\xff");
  EXPECT_EQ(out, "\"\xEF\xBF\xBD\"");
}

TEST(JsonNumber, IsAppendedToWhateverIsThere) {
  for (std::size_t size = 0; size < 64; ++size) {
    std::string out(size, 'x');
    out.shrink_to_fit();
    append_json_number(out, std::numeric_limits<std::int64_t>::min());
    append_json_number(out, 0U);
    append_json_number(out, std::numeric_limits<std::uint64_t>::max());
    EXPECT_EQ(out, std::string(size, 'x') + "-9223372036854775808018446744073709551615");
  }
}

}  // namespace
}  // namespace sallyport
