#include "tool/denied_paths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tool/file_order.h"
#include "tool/tree_fixture.h"

namespace sallyport {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class DeniedPaths : public testing::Test {
 protected:
  Result<void> check(const std::string& host, const std::vector<std::string>& deny) {
    Ceiling ceiling;
    for (const std::string& text : deny)
      ceiling.deny_files.push_back({text, *Glob::parse(std::string_view(text).substr(1))});
    CellSpec spec;
    spec.grants = {{.host = host, .inside = "/data", .write = false}};
    spec.limits.timeout = timeout;
    return check_denied_paths(ceiling, spec, {.entries = most_entries, .clock = tick});
  }

  // A millisecond passes between any two looks at this clock.
  static std::int64_t tick() { return ticks_ += 1'000'000; }

  static inline std::int64_t ticks_ = 0;
  TemporaryTree tree;
  std::size_t most_entries = 100'000;
  Duration timeout = std::chrono::hours{1};
};

TEST_F(DeniedPaths, LetsATreeWithoutThemPass) {
  tree.write("shop/a", "");
  tree.write("shop/ssh/b", "");
  tree.write("shop/x.ssh/b", "");
  EXPECT_TRUE(check(tree / "shop", {"/etc/shadow", "/**/.ssh/**"}));
  EXPECT_TRUE(check(tree / "shop", {}));
  EXPECT_TRUE(check(tree / "shop/a", {"/**/.ssh/**"}));
}

TEST_F(DeniedPaths, RefusesAGrantThatHoldsOne) {
  tree.write("home/u/.ssh/id_ed25519", "");
  const auto checked = check(tree / "home", {"/**/.ssh/**"});
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().reason, Reason::cannot_enforce);
  EXPECT_THAT(checked.error().message, AllOf(HasSubstr(".ssh"), HasSubstr("/**/.ssh/**")));
  EXPECT_THAT(checked.error().hint, HasSubstr("narrower"));
  EXPECT_TRUE(check(tree / "home", {"/**/.aws/**"}));
}

TEST_F(DeniedPaths, RefusesAGrantThatIsOneOrLiesInOne) {
  tree.write("keys/a/b", "");
  EXPECT_FALSE(check(tree / "keys", {tree / "keys"}));
  EXPECT_FALSE(check(tree / "keys/a", {tree / "keys"}));
  EXPECT_FALSE(check(tree / "keys/a/b", {tree / "keys"}));
  EXPECT_FALSE(check(tree / "keys/a/b", {tree / "keys/**"}));
  EXPECT_FALSE(check(tree.path(), {tree / "keys"}));
  EXPECT_TRUE(check(tree / "keys/a", {tree / "keys/b"}));
}

// Nothing is in it yet, but a writable grant would put something there.
TEST_F(DeniedPaths, RefusesAnEmptyDirectoryInWhichEverythingIsDenied) {
  std::filesystem::create_directories(tree / "home/.ssh");
  EXPECT_FALSE(check(tree / "home/.ssh", {"/**/.ssh/**"}));
  EXPECT_FALSE(check(tree / "home", {"/**/.ssh/**"}));
}

TEST_F(DeniedPaths, RefusesAHiddenOneDeepDown) {
  std::string deep = "d";
  for (int i = 0; i < 40; ++i)
    deep += "/d";
  tree.write(deep + "/secret.pem", "");
  EXPECT_FALSE(check(tree / "d", {"/**/*.pem"}));
  for (int i = 0; i < 200; ++i)
    deep += "/d";
  std::filesystem::create_directories(tree / deep);
  EXPECT_THAT(check(tree / "d", {"/**/*.key"}).error().message, HasSubstr("deep"));
}

TEST_F(DeniedPaths, IsNotLedElsewhereByLinks) {
  tree.write("out/.ssh/key", "");
  tree.write("in/a", "");
  tree.link("../out", "in/link");
  tree.link(".", "in/loop");
  EXPECT_TRUE(check(tree / "in", {"/**/.ssh/**"}));
  // The name itself may be denied, whatever it is.
  EXPECT_FALSE(check(tree / "in", {"/**/link"}));
}

TEST_F(DeniedPaths, RefusesATreeThatIsTooLargeToLookThrough) {
  for (int i = 0; i < 30; ++i)
    tree.write("big/" + std::to_string(i) + "/file", "");
  most_entries = 60;
  EXPECT_TRUE(check(tree / "big", {"/**/.ssh/**"}));
  most_entries = 59;
  const auto checked = check(tree / "big", {"/**/.ssh/**"});
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().reason, Reason::cannot_enforce);
  EXPECT_THAT(checked.error().message, HasSubstr("too many entries"));
  // Only where a glob could match is looked at.
  EXPECT_TRUE(check(tree / "big", {"/etc/shadow", tree / "big/7/.ssh", tree / "other/**"}));
}

TEST_F(DeniedPaths, RefusesATreeThatTakesLongerThanTheCallMay) {
  for (int i = 0; i < 30; ++i)
    tree.write("big/" + std::to_string(i), "");
  timeout = std::chrono::milliseconds{30};
  EXPECT_TRUE(check(tree / "big", {"/**/.ssh/**"}));
  timeout = std::chrono::milliseconds{29};
  const auto checked = check(tree / "big", {"/**/.ssh/**"});
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().reason, Reason::cannot_enforce);
  EXPECT_THAT(checked.error().message, AllOf(HasSubstr("timeout"), HasSubstr("29ms")));
  timeout = Duration::max();
  EXPECT_TRUE(check(tree / "big", {"/**/.ssh/**"}));
}

TEST_F(DeniedPaths, FindsADeniedFileByItsOtherNames) {
  tree.write("keys/secret", "");
  tree.write("shop/a/harmless", "");
  const std::vector<std::string> deny{"/etc/shadow", tree / "keys/secret"};
  EXPECT_TRUE(check(tree / "shop", deny));
  std::filesystem::create_hard_link(tree / "keys/secret", tree / "shop/a/innocent");
  const auto checked = check(tree / "shop", deny);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().reason, Reason::cannot_enforce);
  EXPECT_THAT(checked.error().message,
              AllOf(HasSubstr("shop/a/innocent"), HasSubstr("another name of")));
  EXPECT_FALSE(check(tree / "shop/a/innocent", deny));
  EXPECT_TRUE(check(tree / "shop/a/harmless", deny));
}

TEST_F(DeniedPaths, RefusesAPathThatIsSpelledInAnotherWay) {
  tree.write("keys/a", "");
  for (const std::string& host : {tree / "x/../keys", tree / "./keys", tree.path() + "//keys",
                                  std::string("keys"), tree / "keys/"})
    EXPECT_FALSE(check(host, {"/never"})) << host;
}

TEST_F(DeniedPaths, LeavesOurOwnProgramOut) {
  Ceiling ceiling;
  ceiling.deny_files.push_back({"/usr/**", *Glob::parse("usr/**")});
  CellSpec spec;
  spec.grants = {{.host = "/usr/bin/sallyport", .inside = std::string(kProgramInside)}};
  EXPECT_TRUE(check_denied_paths(ceiling, spec));
  spec.grants[0].inside = "/data";
  EXPECT_FALSE(check_denied_paths(ceiling, spec));
}

}  // namespace
}  // namespace sallyport
