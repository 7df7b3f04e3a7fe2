#include "screen/screen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace sallyport {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<std::string> categories(std::string_view code, Language language = Language::python) {
  std::vector<std::string> list;
  const auto screening = screen(code, language);
  if (!screening) return {"refused"};
  for (const ScreenFinding& finding : screening->findings)
    list.push_back(finding.category);
  if (screening->syntax_error) list.emplace_back("syntax_error");
  return list;
}

std::string repeated(std::string_view part, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i)
    text.append(part);
  return text;
}

TEST(Screen, SaysWhereAndWhyAndWhatWouldPass) {
  const auto screening =
      screen("import os\n\nif True:\n    x = 'é'; os.system('ls')\n", Language::python);
  ASSERT_TRUE(screening);
  ASSERT_THAT(screening->findings, SizeIs(1));
  const ScreenFinding& finding = screening->findings[0];
  EXPECT_EQ(finding.category, "os_command");
  EXPECT_EQ(finding.line, 4U);
  EXPECT_EQ(finding.column, 14U);
  EXPECT_EQ(finding.excerpt, "os.system");
  EXPECT_THAT(finding.why, HasSubstr("os.system"));
  EXPECT_FALSE(finding.allowed.empty());
}

TEST(Screen, ReportsASyntaxErrorWithItsPlace) {
  const auto screening = screen("x = 1\ny = (2 +\n", Language::python);
  ASSERT_TRUE(screening);
  ASSERT_TRUE(screening->syntax_error);
  EXPECT_EQ(screening->syntax_error->line, 2U);
  EXPECT_THAT(categories("const = ;", Language::javascript), Contains("syntax_error"));
  EXPECT_THAT(categories("if true; then", Language::shell), Contains("syntax_error"));
}

TEST(Screen, FindsWhatStandsBeforeASyntaxError) {
  EXPECT_THAT(categories("import os\nos.system('x')\nx = = 1\n"),
              testing::AllOf(Contains("os_command"), Contains("syntax_error")));
}

TEST(Screen, RefusesCodeThatIsTooLong) {
  const auto screening = screen(std::string(kLargestScreenedCode + 1, ' '), Language::python);
  ASSERT_FALSE(screening);
  EXPECT_EQ(screening.error().reason, Reason::screen);
  EXPECT_FALSE(screening.error().hint.empty());
}

TEST(Screen, RefusesCodeThatIsTooDeep) {
  for (const Language language : {Language::python, Language::javascript}) {
    const auto screening =
        screen("x = " + repeated("[", 2000) + "1" + repeated("]", 2000) + "\n", language);
    ASSERT_FALSE(screening);
    EXPECT_EQ(screening.error().reason, Reason::screen);
  }
}

// Each of these took minutes, or broke the heap, with a reader that mends every error.
TEST(Screen, NeverTakesHostileTextForClean) {
  for (const Language language : {Language::python, Language::javascript, Language::shell}) {
    for (const std::string& text :
         {repeated("(", 10'000), repeated("[", 100'000), repeated("{", 100'000),
          repeated("if while for def class ", 40'000), repeated("$((", 20'000),
          repeated("'", 100'001), repeated("\"${", 50'000), repeated("`", 99'999)}) {
      EXPECT_THAT(categories(text, language), testing::Not(IsEmpty()))
          << name_of(language) << " " << text.substr(0, 10);
    }
    (void)categories(std::string(1'000'000, 'a'), language);
    (void)categories(std::string(1000, '\0'), language);
    (void)categories(repeated("\xff\xfe", 1000), language);
  }
}

TEST(Screen, FollowsLongChainsOfNamesOnlySoFar) {
  std::string code = "import os\na0 = os.system\n";
  for (int i = 1; i < 5000; ++i)
    code.append("a" + std::to_string(i) + " = a" + std::to_string(i - 1) + "\n");
  EXPECT_THAT(categories(code + "a4999('ls')\n"), Contains("os_command"));
  std::string loop = "a = b\nb = a\na()\n";
  EXPECT_THAT(categories(loop), IsEmpty());
}

TEST(Screen, DoesNotGrowWhatItFolds) {
  std::string code = "a0 = 'xxxxxxxxxxxxxxxx'\n";
  for (int i = 1; i < 200; ++i)
    code.append("a" + std::to_string(i) + " = a" + std::to_string(i - 1) + " + a" +
                std::to_string(i - 1) + "\n");
  code.append("eval(a199)\n");
  EXPECT_THAT(categories(code), testing::AllOf(Contains("dynamic_code"), Contains("dynamic")));
  // One long text that is run many times is read once or twice, and then said to be too much.
  std::string many = "s = '" + repeated("f(1);", 50'000) + "'\n" + repeated("exec(s)\n", 2000);
  EXPECT_THAT(categories(many), Contains("dynamic"));
}

TEST(Screen, BoundsWhatItReports) {
  const auto screening =
      screen("import os\n" + repeated("os.system('x')\n", 5000), Language::python);
  ASSERT_TRUE(screening);
  EXPECT_THAT(screening->findings, SizeIs(kMostScreenFindings));
  EXPECT_TRUE(screening->more);
}

TEST(Screen, GivesUpOnCodeInStringsInStrings) {
  std::string code = "x = 1";
  for (int i = 0; i < 6; ++i) {
    std::string quoted;
    for (const char c : code) {
      if (c == '\'' || c == '\\') quoted.push_back('\\');
      quoted.push_back(c);
    }
    code = "exec('" + quoted + "')";
  }
  EXPECT_THAT(categories(code), Contains("dynamic"));
}

TEST(Screen, KeepsNamesOfOneFunctionOutOfAnother) {
  EXPECT_THAT(categories("import os\ndef f():\n    run = os.system\ndef g(run):\n    run('x')\n"),
              ElementsAre("os_command"));
  EXPECT_THAT(categories("def f():\n    eval = int\n    eval('1')\nf()\n"), IsEmpty());
  EXPECT_THAT(categories("{ const fetch = x => x; fetch('a'); }", Language::javascript), IsEmpty());
  EXPECT_THAT(categories("{ const f = x => x; } fetch('a');", Language::javascript),
              ElementsAre("http"));
}

TEST(Screen, ShowsHostileTextEscaped) {
  const auto screening =
      screen("import os\nos.system('\x1b[31m')\n__import__('\x1b]0;x')", Language::python);
  ASSERT_TRUE(screening);
  for (const ScreenFinding& finding : screening->findings) {
    EXPECT_THAT(finding.excerpt, testing::Not(HasSubstr("\x1b")));
    EXPECT_THAT(finding.why, testing::Not(HasSubstr("\x1b")));
  }
}

TEST(Screen, HasOneNameForEachCategory) {
  std::set<std::string_view> names;
  for (const ScreenCategory& row : kScreenCategories) {
    EXPECT_TRUE(names.insert(row.name).second);
    EXPECT_EQ(row.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), std::string_view::npos);
    EXPECT_FALSE(row.what.empty() || row.allowed.empty());
  }
}

TEST(LanguageOf, LooksAtTheNameAndThenAtTheFirstLine) {
  EXPECT_EQ(language_of("a/b.py", ""), Language::python);
  EXPECT_EQ(language_of("x.mjs", ""), Language::javascript);
  EXPECT_EQ(language_of("run", "#!/usr/bin/env -S node --x\n"), Language::javascript);
  EXPECT_EQ(language_of("run", "#!/bin/bash\n"), Language::shell);
  EXPECT_EQ(language_of("-", "#!/usr/bin/python3.11\n"), Language::python);
  EXPECT_EQ(language_of("x.txt", "hello"), std::nullopt);
  EXPECT_EQ(language_of(".py", ""), std::nullopt);
}

}  // namespace
}  // namespace sallyport
