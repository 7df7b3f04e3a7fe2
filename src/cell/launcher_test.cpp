#include "cell/launcher.h"

#include <gtest/gtest.h>

namespace sallyport {
namespace {

constexpr std::string_view kPasswd =
    "root:x:0:0:root:/root:/bin/bash\nann:x:1001:1001::/home/ann:/bin/sh\nbroken\n";

TEST(Launcher, FindsTheNameOfAUser) {
  EXPECT_EQ(user_name(kPasswd, 1001), "ann");
  EXPECT_EQ(user_name(kPasswd, 100), "");
  EXPECT_EQ(user_name("", 0), "");
}

TEST(Launcher, FindsASubordinateGidByNameOrNumber) {
  const std::string_view subgid = "bob:100000:65536\nann:165536:65536\n1002:231072:65536\n";
  EXPECT_EQ(subordinate_gid(subgid, "ann", 1001), 165536U);
  EXPECT_EQ(subordinate_gid(subgid, "", 1002), 231072U);
  EXPECT_EQ(subordinate_gid(subgid, "eve", 1003), std::nullopt);
}

TEST(Launcher, DoesNotTakeRootOrNonsenseForASubordinateGid) {
  for (const char* line : {"ann:0:1", "ann", "ann:", "ann:x:1", "ann:5", "annabel:100000:1", ""})
    EXPECT_EQ(subordinate_gid(line, "ann", 1001), std::nullopt) << line;
}

}  // namespace
}  // namespace sallyport
