#include "base/canonical_object.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace sallyport {
namespace {

TEST(CanonicalObject, IsTheTextOfTheSameValue) {
  std::string text;
  CanonicalObject object(text);
  object.value("a", json::value{1.0, nullptr, {{"y", 2}, {"x", 1}}});
  object.flag("b", true);
  object.key("c");
  CanonicalObject inner(text);
  inner.number("n", -7);
  inner.close();
  object.number("d", std::uint64_t{18446744073709551615ULL});
  object.text("e", "a\n\"\\\x01 \u00fc");
  object.close();
  const json::value value{{"e", "a\n\"\\\x01 \u00fc"},
                          {"d", std::uint64_t{18446744073709551615ULL}},
                          {"c", {{"n", -7}}},
                          {"b", true},
                          {"a", {1.0, nullptr, {{"y", 2}, {"x", 1}}}}};
  EXPECT_EQ(text, canonical_json(value));
}

TEST(CanonicalText, EveryByteIsEscapedAtEveryPlace) {
  for (int byte = 0; byte < 128; ++byte)
    for (std::size_t place = 0; place < 20; ++place) {
      std::string text(20, 'x');
      text[place] = static_cast<char>(byte);
      std::string out;
      append_canonical_text(out, text);
      const bool plain = byte >= 0x20 && byte != '"' && byte != '\\';
      EXPECT_EQ(out.size(), 22U + (plain ? 0 : byte < 0x20 ? 5 : 1)) << byte << " at " << place;
      const auto read = parse_json(out);
      ASSERT_TRUE(read) << byte << " at " << place;
      EXPECT_EQ(*read, json::value(text));
    }
}

TEST(CanonicalObject, KeysRise) {
  std::string text;
  CanonicalObject object(text);
  object.number("b", 1);
  EXPECT_THROW(object.number("b", 2), std::invalid_argument);
  EXPECT_THROW(object.number("a", 2), std::invalid_argument);
  EXPECT_THROW(object.number(JsonKey::of("c\n"), 2), std::invalid_argument);
}

}  // namespace
}  // namespace sallyport
