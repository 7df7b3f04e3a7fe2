#include "base/text.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <random>

namespace sallyport {
namespace {

bool is_utf8(std::string_view text) {
  for (; !text.empty(); text.remove_prefix(first_utf8_char(text).length))
    if (!first_utf8_char(text).valid) return false;
  return true;
}

std::string random_bytes(std::mt19937& random) {
  constexpr std::string_view kTelling =
      "a'\\/\n\x1b\x7f\x80\x9f\xa0\xbf\xc2\xc3\xe0\xe2\xed\xef\xf0\xf4\xff";
  std::string bytes(random() % 12, '\0');
  for (char& c : bytes)
    c = random() % 4 == 0 ? static_cast<char>(random()) : kTelling[random() % kTelling.size()];
  return bytes;
}

TEST(Text, ValidUtf8IsLeftAsItIs) {
  for (const std::string_view text : {"", "plain", "\u00e9\u20ac\U0001F600", "\x7f",
                                      "\xED\x9F\xBF\xEE\x80\x80", "\xF4\x8F\xBF\xBF"})
    EXPECT_EQ(to_utf8(text), text);
}

TEST(Text, WhatIsNotUtf8BecomesOneReplacementPerBrokenSequence) {
  const std::pair<std::string_view, std::string_view> rows[] = {
      {"a\xFF"
       "b",
       "a\uFFFDb"},
      {"\x80", "\uFFFD"},
      {"\xC3", "\uFFFD"},
      {"\xC3(", "\uFFFD("},
      {"\xE2\x82", "\uFFFD"},
      {"\xE2\x82z", "\uFFFDz"},
      {"\xF0\x9F\x98", "\uFFFD"},
      {"\xC0\xAF", "\uFFFD\uFFFD"},                      // overlong '/'
      {"\xE0\x80\xAF", "\uFFFD\uFFFD\uFFFD"},            // overlong '/'
      {"\xED\xA0\x80", "\uFFFD\uFFFD\uFFFD"},            // surrogate
      {"\xF4\x90\x80\x80", "\uFFFD\uFFFD\uFFFD\uFFFD"},  // above U+10FFFF
      // The example of the Unicode standard, section 3.9.
      {"\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64",
       "a\uFFFD\uFFFD\uFFFDb\uFFFDc\uFFFD\uFFFDd"},
  };
  for (const auto& [bytes, text] : rows)
    EXPECT_EQ(to_utf8(bytes), text);
}

TEST(Text, ANulByteIsACharacter) {
  const std::string text("a\0b", 3);
  EXPECT_EQ(to_utf8(text), text);
}

TEST(Text, ACharacterThatTheTextEndsInIsCutOff) {
  EXPECT_TRUE(first_utf8_char("\xE2\x82").cut_off);
  EXPECT_FALSE(first_utf8_char("\xE2z").cut_off);
  EXPECT_FALSE(first_utf8_char("\xFF").cut_off);
  EXPECT_FALSE(first_utf8_char("\xE2\x82\xAC").cut_off);
}

TEST(Text, AnythingBecomesUtf8AndStaysTheSameTheSecondTime) {
  std::mt19937 random(2);
  for (int i = 0; i < 20'000; ++i) {
    const std::string bytes = random_bytes(random);
    const std::string text = to_utf8(bytes);
    EXPECT_TRUE(is_utf8(text));
    EXPECT_EQ(to_utf8(text), text);
  }
}

TEST(Text, WhatATerminalWouldObeyIsMadeVisible) {
  const std::pair<std::string, std::string_view> rows[] = {
      {"/tmp/caf\u00e9 \u20ac", "/tmp/caf\u00e9 \u20ac"},
      {"\x1b[2J", "\\x1b[2J"},
      {"a\rb\nc\td", "a\\x0db\\nc\\td"},
      {"\x07\x7f", "\\x07\\x7f"},
      {std::string("a\0b", 3), "a\\x00b"},
      {"\u009b31m", "\\u{009b}31m"},          // CSI in one character
      {"gpj.\u202etxt", "gpj.\\u{202e}txt"},  // right-to-left override
      {"a\u200bb\ufeff", "a\\u{200b}b\\u{feff}"},
      {"\u2028", "\\u{2028}"},
      {"\U000E0041", "\\u{e0041}"},  // tag characters carry hidden text to a model
      {"\xff\xe2\x82", "\\xff\\xe2\\x82"},
      {"C:\\x", "C:\\x"},
  };
  for (const auto& [text, visible] : rows)
    EXPECT_EQ(escape_for_terminal(text), visible);
}

TEST(Text, EscapedTextHasNoControlCharactersAndEscapingItAgainChangesNothing) {
  std::mt19937 random(3);
  for (int i = 0; i < 20'000; ++i) {
    const std::string visible = escape_for_terminal(random_bytes(random));
    EXPECT_TRUE(is_utf8(visible));
    for (const char c : visible)
      EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
    EXPECT_EQ(escape_for_terminal(visible), visible);
  }
}

TEST(Text, AQuotedTextIsEscapedAndShortened) {
  EXPECT_EQ(quoted("a b"), "'a b'");
  EXPECT_EQ(quoted("\x1b"), "'\\x1b'");
  EXPECT_EQ(sallyport::quoted(std::string(120, 'x')), "'" + std::string(120, 'x') + "'");
  EXPECT_EQ(sallyport::quoted(std::string(121, 'x')), "'" + std::string(120, 'x') + "...'");
  EXPECT_EQ(sallyport::quoted(std::string(119, 'x') + "\u20ac"),
            "'" + std::string(119, 'x') + "...'");
}

TEST(Text, ShellWordsAreQuotedOnlyWhereNeeded) {
  const std::pair<std::string_view, std::string_view> rows[] = {
      {"plain", "plain"},
      {"/usr/bin/python3.11", "/usr/bin/python3.11"},
      {"", "''"},
      {"a b", "'a b'"},
      {"it's", "'it'\\''s'"},
      {"$(reboot)", "'$(reboot)'"},
      {"A=1", "'A=1'"},
      {"~root", "'~root'"},
      {"%1", "'%1'"},
      {"*", "'*'"},
      {"a\nb", "'a\nb'"},
      {"\u00e9", "'\u00e9'"},
  };
  for (const auto& [word, text] : rows)
    EXPECT_EQ(shell_quote(word), text);
}

TEST(Text, AShellReadsAQuotedWordBackUnchanged) {
  std::string command = "printf '%s\\001'";
  std::string expected;
  std::mt19937 random(4);
  for (int i = 0; i < 300; ++i) {
    std::string word = random_bytes(random);
    std::erase(word, '\0');
    command.append(" ").append(shell_quote(word));
    expected.append(word).append("\x01");
  }
  FILE* pipe = popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string output;
  std::array<char, 4096> buffer;
  for (std::size_t count; (count = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    output.append(buffer.data(), count);
  EXPECT_EQ(pclose(pipe), 0);
  EXPECT_EQ(output, expected);
}

TEST(Text, TheNearestWordIsASlipAwayOrTheOnlyOneThatBeginsSo) {
  constexpr std::string_view kWords[] = {"timeout", "timings", "memory", "cpu",
                                         "cpus",    "read",    "io"};
  const std::pair<std::string_view, std::string_view> rows[] = {
      {"timeuot", "timeout"}, {"timeot", "timeout"}, {"memmory", "memory"},
      {"cpu", "cpu"},         {"cpuz", "cpu"},       {"mem", "memory"},
      {"re", "read"},         {"timeo", "timeout"},  {"raed", "read"},
  };
  for (const auto& [word, meant] : rows)
    EXPECT_EQ(nearest(word, kWords), meant) << word;
  for (const std::string_view word : {"", "tim", "zzzzzz", "x", "disk", "ab", "memorymemory"})
    EXPECT_EQ(nearest(word, kWords), std::nullopt) << word;
  EXPECT_EQ(nearest(std::string(1'000'000, 'a'), kWords), std::nullopt);
  EXPECT_EQ(nearest("read", {}), std::nullopt);
}

TEST(Text, IrregularComponentsAreFound) {
  for (const std::string_view path : {"a", "/a", "a/b.c", "/a/...", "..a/b", "a.."})
    EXPECT_EQ(irregular_component(path), std::nullopt) << path;
  const std::pair<std::string_view, std::string_view> rows[] = {
      {"", ""},   {"/", ""},        {"a//b", ""}, {"//a", ""},  {"a/", ""},        {"..", ".."},
      {".", "."}, {"a/../b", ".."}, {"a/.", "."}, {"./a", "."}, {"/../etc", ".."},
  };
  for (const auto& [path, component] : rows)
    EXPECT_EQ(irregular_component(path), component) << path;
}

}  // namespace
}  // namespace sallyport
