#include "base/glob.h"

#include <gtest/gtest.h>

#include <ctime>
#include <random>

namespace sallyport {
namespace {

struct Row {
  std::string_view glob;
  std::vector<std::string_view> matching;
  std::vector<std::string_view> other;
};

TEST(Glob, MatchesAsItsHeaderSays) {
  const Row rows[] = {
      {"a.csv", {"a.csv"}, {"a_csv", "b/a.csv", "a.csv2", ""}},
      {"*.csv", {"a.csv", ".csv", ".a.csv"}, {"b/a.csv", "a.csvx"}},
      {"*", {"a", ".a"}, {"a/b"}},
      {"out/*", {"out/a"}, {"out", "out/a/b"}},
      {"out/**", {"out/a", "out/a/b"}, {"out", "outer/a"}},
      {"**", {"a", "a/b/c"}, {}},
      {"**/a", {"a", "b/a", "c/b/a"}, {"ba", "c/ba", "a/b"}},
      {"a/**/b", {"a/b", "a/x/b", "a/x/y/b"}, {"ab", "a/xb", "a/x/yb", "x/a/b"}},
      {"a/**/**/b", {"a/b", "a/x/b"}, {"ab"}},
      {"a**b", {"ab", "a/b", "axb", "ax/yb"}, {"a", "b"}},
      {"a***", {"a", "a/b"}, {"b"}},
      {"**.png", {"a.png", "b/a.png"}, {"a.pn"}},
      {"a?c",
       {"abc",
        "a\u20ac"
        "c",
        "a\xff"
        "c"},
       {"ac", "a/c", "abbc"}},
      {"[abc]", {"a", "c"}, {"d", "", "ab"}},
      {"[a-c0-9]x", {"bx", "5x"}, {"dx", "-x"}},
      {"[!a-c]", {"d", "\u20ac"}, {"a", "/"}},
      {"[^a-c]", {"d"}, {"a"}},
      {"x[.-0]y", {"x.y", "x0y"}, {"x/y"}},  // '/' lies between '.' and '0'
      {"[]a]", {"]", "a"}, {"b"}},
      {"[!]]", {"a"}, {"]"}},
      {"[a-]", {"a", "-"}, {"b"}},
      {"[\\]-_]", {"]", "^", "_"}, {"\\", "["}},
      {"[\u03b1-\u03c9]", {"\u03b2"}, {"b"}},
      {"[[]x", {"[x"}, {"x"}},
      {"\\*\\?\\[\\\\", {"*?[\\"}, {"a?[\\"}},
      {"\xff*",
       {"\xff",
        "\xff"
        "a"},
       {"\xfe", "\uFFFD"}},
      {"{a,b}", {"{a,b}"}, {"a"}},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.glob);
    const auto glob = Glob::parse(row.glob);
    ASSERT_TRUE(glob.has_value()) << glob.error().message;
    for (const std::string_view path : row.matching)
      EXPECT_TRUE(glob->matches(path)) << path;
    for (const std::string_view path : row.other)
      EXPECT_FALSE(glob->matches(path)) << path;
  }
}

TEST(Glob, ARefusedGlobSaysWhatIsWrong) {
  struct Refusal {
    std::string glob;
    std::string message;
    std::string hint;
  };
  const Refusal rows[] = {
      {"", "the glob is empty", "such as '*.csv'"},
      {"/etc/*", "the glob '/etc/*' begins with '/'", "relative"},
      {"../*", "has the component '..'", "relative"},
      {"a/./b", "has the component '.'", "relative"},
      {"a//b", "has an empty component", "one '/' between names"},
      {"a/", "has an empty component", "none at the end"},
      {"**/", "has an empty component", "none at the end"},
      {"a[bc", "has a '[' without its ']'", "write \\["},
      {"a[", "has a '[' without its ']'", "write \\["},
      {"a[]", "has a '[' without its ']'", "write \\["},
      {"a[!]", "has a '[' without its ']'", "write \\["},
      {"[a-", "has a '[' without its ']'", "write \\["},
      {"[a\\", "has a '[' without its ']'", "write \\["},
      {"[z-a]", "range that runs backwards", "[a-z]"},
      {"[[:alpha:]]", "named class", "[a-zA-Z]"},
      {"a\\", "ends in a '\\'", "write \\\\"},
      {std::string("a\0b", 3), "contains a NUL byte", "no file name does"},
      {std::string(4097, 'a'), "is longer than 4096 bytes", "shorter"},
  };
  for (const Refusal& row : rows) {
    SCOPED_TRACE(row.glob);
    const auto glob = Glob::parse(row.glob);
    ASSERT_FALSE(glob.has_value());
    EXPECT_EQ(glob.error().reason, Reason::argument);
    EXPECT_NE(glob.error().message.find(row.message), std::string::npos) << glob.error().message;
    EXPECT_NE(glob.error().hint.find(row.hint), std::string::npos) << glob.error().hint;
  }
}

// The meaning of a glob without sets and escapes, by trying everything.
bool matches_by_trying(std::string_view glob, std::string_view path, bool component_begins = true) {
  if (glob.empty()) return path.empty();
  if (glob.starts_with("**")) {
    std::string_view rest = glob;
    while (rest.starts_with('*'))
      rest.remove_prefix(1);
    if (component_begins && rest.starts_with('/') && matches_by_trying(rest.substr(1), path))
      return true;
    for (std::size_t i = 0; i <= path.size(); ++i)
      if (matches_by_trying(rest, path.substr(i), false)) return true;
    return false;
  }
  if (glob[0] == '*') {
    for (std::size_t i = 0; i <= path.size(); ++i) {
      if (matches_by_trying(glob.substr(1), path.substr(i), false)) return true;
      if (i < path.size() && path[i] == '/') return false;
    }
    return false;
  }
  if (path.empty() || (glob[0] == '?' ? path[0] == '/' : path[0] != glob[0])) return false;
  return matches_by_trying(glob.substr(1), path.substr(1), glob[0] == '/');
}

TEST(Glob, AgreesWithAMatcherThatTriesEverything) {
  std::mt19937 random(5);
  const auto pick = [&random](std::string_view letters, std::size_t longest) {
    std::string text(1 + random() % longest, '\0');
    for (char& c : text)
      c = letters[random() % letters.size()];
    return text;
  };
  int matched = 0;
  for (int i = 0; i < 100'000; ++i) {
    const std::string text = pick("ab/**?", 7);
    const auto glob = Glob::parse(text);
    if (!glob) continue;
    const std::string path = pick("aab/", 7);
    const bool expected = matches_by_trying(text, path);
    matched += expected;
    ASSERT_EQ(glob->matches(path), expected) << text << " on " << path;
  }
  EXPECT_GT(matched, 1000);
}

TEST(Glob, HostileGlobsTakeBoundedTime) {
  std::string stars, globstars;
  for (int i = 0; i < 200; ++i) {
    stars += "*a";
    globstars += "**/";
  }
  const std::string path(4000, 'a');
  const std::clock_t start = std::clock();  // of this process: a busy machine is not its fault
  EXPECT_FALSE(Glob::parse(stars + "b")->matches(path));
  EXPECT_FALSE(Glob::parse(globstars + "b")->matches(path));
  EXPECT_LT(std::clock() - start, 20 * CLOCKS_PER_SEC);
}

}  // namespace
}  // namespace sallyport
