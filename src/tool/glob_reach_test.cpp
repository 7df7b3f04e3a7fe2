#include "tool/glob_reach.h"

#include <gtest/gtest.h>

#include "base/glob.h"

namespace sallyport {
namespace {

TEST(GlobReach, FollowsPlainComponents) {
  EXPECT_TRUE(may_match_below("etc/shadow", ""));
  EXPECT_TRUE(may_match_below("etc/shadow", "etc"));
  EXPECT_FALSE(may_match_below("etc/shadow", "srv"));
  EXPECT_FALSE(may_match_below("etc/shadow", "etc/shadow"));
  EXPECT_FALSE(may_match_below("etc/shadow", "etc/ssl"));
  EXPECT_FALSE(may_match_below("etc", "etc"));
  EXPECT_TRUE(may_match_below("srv/*/key", "srv/a"));
  EXPECT_FALSE(may_match_below("srv/?/key", "srv/ab"));
}

TEST(GlobReach, FollowsDoubleStarsEverywhere) {
  EXPECT_TRUE(may_match_below("**/.ssh/**", "srv/shop"));
  EXPECT_TRUE(may_match_below("**", "a/b"));
  EXPECT_TRUE(may_match_below("srv/**", "srv"));
  EXPECT_TRUE(may_match_below("srv/a**z", "srv/ab/c"));
  EXPECT_FALSE(may_match_below("home/**/.ssh", "srv/shop"));
}

TEST(GlobReach, TakesASetThatHoldsASlashForOneThatCouldMatch) {
  EXPECT_TRUE(may_match_below("a[x/y]b/c", "q"));
}

// What the answer is for: no path that matches lies where it says that none can.
TEST(GlobReach, NeverRulesOutAPlaceThatHasAMatch) {
  const std::string_view globs[] = {"a/b", "*/b",    "**/b",  "a/**",   "a**",     "**",
                                    "?/b", "[ab]/b", "a/*/c", "a/**/c", "**/b/**", "a*/b*"};
  const std::string_view names[] = {"a", "b", "c", "ab"};
  for (const std::string_view text : globs) {
    const auto glob = Glob::parse(text);
    ASSERT_TRUE(glob);
    for (const std::string_view one : names)
      for (const std::string_view two : names)
        for (const std::string_view three : names) {
          const std::string pair = std::string(one).append("/").append(two);
          const std::string triple = std::string(pair).append("/").append(three);
          if (glob->matches(pair)) EXPECT_TRUE(may_match_below(text, one)) << text << " " << pair;
          if (!glob->matches(triple)) continue;
          EXPECT_TRUE(may_match_below(text, one)) << text << " " << triple;
          EXPECT_TRUE(may_match_below(text, pair)) << text << " " << triple;
        }
  }
}

}  // namespace
}  // namespace sallyport
