#include "input/string_value.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sallyport {
namespace {

using ::testing::HasSubstr;

struct Refusal {
  std::string_view text;
  std::string_view message;
};

TEST(StringValue, RefusesWhatWouldCutHideOrReorderAText) {
  using namespace std::string_view_literals;
  const Refusal cases[] = {
      {"user\0admin"sv, "a NUL at character 5"},
      {"\xC0\xAE\xC0\xAE/etc", "not UTF-8 at character 1"},  // overlong ".."
      {"\xED\xA0\x80", "not UTF-8"},                         // a surrogate
      {"\xF4\x90\x80\x80", "not UTF-8"},                     // above U+10FFFF
      {"caf\xE9", "not UTF-8 at character 4"},               // Latin-1
      {"cut off \xE2\x82", "not UTF-8"},
      {"\x1B[2Jcleared", "a control character"},
      {"\xC2\x9B"
       "2J",
       "a control character"},  // CSI as C1
      {"bell\a", "a control character at character 5"},
      {"del\x7F", "a control character"},
      {"one\ntwo", "a line break at character 4"},
      {"one\rtwo", "a line break"},
      {"one\xE2\x80\xA8two", "line separator"},
      {"\xE2\x80\xAE"
       "gpj.exe",
       "a bidirectional override"},
      {"\xE2\x81\xA6 if", "a bidirectional isolate"},
      {"a\xE2\x80\x8B"
       "b",
       "a zero-width space"},
      {"a\xC2\xAD"
       "b",
       "a soft hyphen"},
      {"\xEF\xBB\xBFtext", "a byte order mark"},
      {"ok\xF3\xA0\x81\xA9\xF3\xA0\x81\xA7", "an invisible tag"},
      {"\xE3\x85\xA4", "filler"},
      {"\xEF\xBF\xBF", "a non-character"},
      {"x\xE2\x80\x8D\xE2\x80\x8D", "a run of invisible characters at character 3"},
      {"x\xEF\xB8\x80\xEF\xB8\x81", "a run of invisible characters"},  // bytes in selectors
      {"x\xF3\xA0\x84\x80\xF3\xA0\x84\x81", "a run of invisible characters"},
      {"\xEF\xB8\x8F", "a run of invisible characters"},  // a selector of nothing
  };
  for (const Refusal& c : cases) {
    const auto value = parse_string_value(c.text);
    ASSERT_FALSE(value) << c.message;
    EXPECT_EQ(value.error().reason, Reason::argument);
    const std::string expected(c.message);
    EXPECT_THAT(value.error().message, HasSubstr(expected));
    EXPECT_FALSE(value.error().hint.empty());
  }
}

TEST(StringValue, TakesRealWritingUnchanged) {
  for (const std::string_view text : {
           "",
           "plain",
           "tab\there",
           "Grüße, 世界",
           "naïve café",
           "می\u200Cخواهم",                          // Persian, with a non-joiner
           "👩\u200D💻 and 👁\uFE0F\u200D🗨\uFE0F",  // emoji joined, and with selectors
           "❤\uFE0F",
           "שלום!\u200F",
           "葛\U000E0100城",
       }) {
    const auto value = parse_string_value(text);
    ASSERT_TRUE(value) << text << value.error().message;
    EXPECT_EQ(*value, text);
  }
}

TEST(StringValue, CountsCharactersNotBytes) {
  std::string euros;
  for (int i = 0; i < 1000; ++i)
    euros += "€";
  EXPECT_TRUE(parse_string_value(euros));
  EXPECT_FALSE(parse_string_value(euros + "€"));
  EXPECT_TRUE(parse_string_value(std::string(1000, 'x')));
  EXPECT_FALSE(parse_string_value(std::string(1001, 'x')));
  EXPECT_FALSE(parse_string_value(std::string(5000, 'x')));
  EXPECT_FALSE(parse_string_value("€", {.min_length = 2}));
  EXPECT_TRUE(parse_string_value("€€", {.min_length = 2, .max_length = 2}));
}

TEST(StringValue, TakesLineBreaksOnlyWhereTheRuleSaysSo) {
  const StringRules lines{.multiline = true};
  EXPECT_TRUE(parse_string_value("one\ntwo\r\nthree\n", lines));
  EXPECT_FALSE(parse_string_value("overwritten\rby this", lines));
  EXPECT_FALSE(parse_string_value("ends in\r", lines));
  EXPECT_FALSE(parse_string_value(std::string_view("a\0b", 3), lines));
  EXPECT_FALSE(parse_string_value("one\xE2\x80\xA8two", lines));
}

TEST(StringValue, ShowsHostileTextEscapedInItsMessage) {
  const auto value = parse_string_value("\x1B]0;title\a");
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().message.find('\x1B'), std::string::npos);
}

}  // namespace
}  // namespace sallyport
