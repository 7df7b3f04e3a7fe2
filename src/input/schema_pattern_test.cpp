#include "input/schema_pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sallyport {
namespace {

using namespace std::literals;

bool matches(std::string_view pattern, std::string_view text) {
  const auto compiled = EcmaPattern::compile(pattern);
  EXPECT_TRUE(compiled) << pattern << ": " << (compiled ? "" : compiled.error().message);
  return compiled && compiled->matches(text);
}

TEST(EcmaPattern, EndsWhereTheTextEndsAndNotBeforeATrailingNewline) {
  EXPECT_TRUE(matches("^abc$", "abc"));
  EXPECT_FALSE(matches("^abc$", "abc\n"));
  EXPECT_FALSE(matches("^abc$", "x\nabc\ny"));
  EXPECT_FALSE(matches("^a$", "a\0"sv));
}

TEST(EcmaPattern, IsSearchedForAnywhere) {
  EXPECT_TRUE(matches("b", "abc"));
  EXPECT_TRUE(matches("", ""));
  EXPECT_TRUE(matches("a|b|", "x"));
}

TEST(EcmaPattern, MeansWhatEcmaMeans) {
  struct Row {
    std::string_view pattern, yes, no;
  };
  for (const Row& row : {Row{R"(^\d+$)", "09", "٣"},
                         {R"(^\w$)", "_", "é"},
                         {R"(^\W$)", "é", "a"},
                         {R"(^\s$)", "\xC2\xA0", "a"},
                         {R"(^\s$)", "\xEF\xBB\xBF", "\xE2\x80\x8B"},
                         {R"(^\S$)", "\xE2\x80\x8B", "\v"},
                         {R"(^[\S]$)", "x", "\xE2\x80\xA8"},
                         {R"(^[^\S]$)", " ", "x"},
                         {"^.$", "😀", "\r"},
                         {"^.$", "é", "\xE2\x80\xA8"},
                         {R"(^\u0041\u{1F600}\x42$)", "A😀B", "AB"},
                         {R"(^\ud83d\ude00$)", "😀", "x"},
                         {R"(^\cA\cz$)", "\x01\x1a", "cAcz"},
                         {R"(^\/\-\_?$)", "/-", "x"},
                         {R"(^[\b]$)", "\b", "b"},
                         {R"(\bfoo\b)", "a foo b", "afoo"},
                         {"^[a-]$", "-", "b"},
                         {"^[-a]$", "-", "b"},
                         {"^[[:alpha:]]$", ":]", "q"},
                         {"^[^]$", "\n", ""},
                         {R"(^\p{L}+$)", "éa", "1"},
                         {R"(^\p{Letter}\P{Lu}$)", "éa", "éA"},
                         {R"(^\p{Script=Greek}+$)", "αβ", "ab"},
                         {R"(^\p{sc=Cyrillic}$)", "я", "a"},
                         {R"(^\p{General_Category=Decimal_Number}$)", "٣", "a"},
                         {R"(^[\p{Nd}_]+$)", "1_", "a"},
                         {R"(^\p{ASCII}$)", "~", "é"},
                         {R"(^\p{LC}$)", "a", "1"},
                         {"^a{2,3}$", "aaa", "aaaa"},
                         {"^a{,3}$", "a{,3}", "aa"},
                         {"^{a}$", "{a}", "a"},
                         {"^a]$", "a]", "a"},
                         {"^(?<year>a)(?:b)(c)$", "abc", "ab"},
                         {"^a+?b*?c??$", "aabbc", "b"},
                         {R"(^\0$)", "\0"sv, "0"},
                         {"^[\\x41-\\u0043]$", "B", "D"}}) {
    EXPECT_TRUE(matches(row.pattern, row.yes)) << row.pattern << " on " << row.yes;
    EXPECT_FALSE(matches(row.pattern, row.no)) << row.pattern << " on " << row.no;
  }
  EXPECT_FALSE(matches("[]", "a"));
  EXPECT_FALSE(matches("^[]$", ""));
}

TEST(EcmaPattern, IsRefusedRatherThanApproximated) {
  const std::pair<std::string_view, std::string_view> kRows[] = {
      {"(?=a)", "lookahead"},
      {"(?!a)", "lookahead"},
      {"(?<=a)b", "lookahead"},
      {"(?<!a)b", "lookahead"},
      {R"((a)\1)", "backreference"},
      {R"((?<n>a)\k<n>)", "backreference"},
      {R"(\Z)", "not one of"},
      {R"(\A)", "not one of"},
      {R"(\z)", "not one of"},
      {R"(\a)", "not one of"},
      {R"(\Q..\E)", "not one of"},
      {R"(\h)", "not one of"},
      {R"(\C)", "not one of"},
      {R"(\pL)", "needs a name"},
      {R"(\p{Greek})", "not known"},
      {R"(\p{Emoji})", "not known"},
      {R"(\p{Script=Klingon})", "cannot be compiled"},
      {R"(\p{Script_Extensions=Greek})", "not known"},
      {R"(\p{Script=Lu})", "not known"},
      {R"(\p{^L})", "not known"},
      {R"(\P{Any})", "not known"},
      {"(?i)a", "kind of group"},
      {"(?i:a)", "kind of group"},
      {"(?P<n>a)", "kind of group"},
      {"(?#c)", "kind of group"},
      {"a**", "nothing to repeat"},
      {"*a", "nothing to repeat"},
      {"^*", "nothing to repeat"},
      {"a|+", "nothing to repeat"},
      {"(?:+)", "nothing to repeat"},
      {"a{2}{3}", "nothing to repeat"},
      {"a{3,2}", "wrong way round"},
      {"a{1001}", "more than 1000"},
      {"a{1,99999999999999999999}", "more than 1000"},
      {"[z-a]", "wrong way round"},
      {R"([\d-z])", "end of a range"},
      {"[a", "not closed"},
      {"(a", "not closed"},
      {"a)", "no group"},
      {"a\\", "backslash"},
      {R"(\u12)", "not a character"},
      {R"(\ud800)", "not a character"},
      {R"(\u{110000})", "not a character"},
      {R"(\xg1)", "not a character"},
      {R"(\u{})", "not a character"},
      {R"(\c1)", "needs a letter"},
      {R"(\01)", "octal"},
      {"\xff", "not UTF-8"},
      {"[\xff]", "not UTF-8"}};
  for (const auto& [pattern, why] : kRows) {
    const auto compiled = EcmaPattern::compile(pattern);
    ASSERT_FALSE(compiled) << pattern;
    EXPECT_THAT(compiled.error().message, testing::HasSubstr(why)) << pattern;
    EXPECT_FALSE(compiled.error().hint.empty()) << pattern;
  }
}

TEST(EcmaPattern, IsRefusedWhenItIsABomb) {
  EXPECT_FALSE(EcmaPattern::compile("((a{1,100}){1,100}){1,100}"));
  EXPECT_FALSE(EcmaPattern::compile(std::string(200, '(') + std::string(200, ')')));
  std::string large;
  for (int i = 0; i < 200; ++i)
    large += "|(?:\\p{L}\\P{Lu}){100}";
  EXPECT_FALSE(EcmaPattern::compile(large));
}

TEST(EcmaPattern, TakesLinearTimeWhereBacktrackingWouldTakeForever) {
  EXPECT_FALSE(matches("^(a+)+$", std::string(100'000, 'a') + "b"));
  EXPECT_FALSE(matches("^(a|a)*$", std::string(100'000, 'a') + "b"));
  EXPECT_FALSE(matches("^([a-zA-Z0-9]+\\s?)*$", std::string(100'000, 'a') + "!"));
}

TEST(EcmaPattern, CostsMoreTheLongerTheTextIs) {
  const auto pattern = EcmaPattern::compile("^[a-z]+$");
  ASSERT_TRUE(pattern);
  EXPECT_GE(pattern->cost(0), 1U);
  EXPECT_LT(pattern->cost(100), 100U);
  EXPECT_GT(pattern->cost(1 << 20), 1000U);
}

}  // namespace
}  // namespace sallyport
