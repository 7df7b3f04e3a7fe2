#include "door/cli/suggest_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "cell/spec.h"

namespace sallyport {
namespace {

using testing::HasSubstr;

Result<SuggestRequest> parse(std::vector<const char*> words) {
  return parse_suggest(words);
}

TEST(SuggestOptions, TakeTheCommandBehindThem) {
  const auto request = parse({"--json", "--name", "report", "--memory=4GiB", "--", "-odd", "x"});
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->spec.command, (std::vector<std::string>{"-odd", "x"}));
  EXPECT_EQ(request->name, "report");
  EXPECT_TRUE(request->json);
  EXPECT_EQ(request->spec.limits.memory, 4_GiB);
}

TEST(SuggestOptions, NameTheToolAfterTheCommand) {
  EXPECT_EQ(parse({"/opt/List-Orders"})->name, "list_orders");
}

TEST(SuggestOptions, RefuseWhatTheyDoNotKnow) {
  for (const std::vector<const char*>& words :
       std::vector<std::vector<const char*>>{{},
                                             {"--"},
                                             {""},
                                             {"--jsn", "true"},
                                             {"--name", "Bad Name", "true"},
                                             {"--name", "a:\n  evil", "true"},
                                             {"--memory", "4", "true"},
                                             {"--read", "/x:/proc", "true"},
                                             {"--env", "A=1", "--env", "A=2", "true"},
                                             {"--json", "--json", "true"}}) {
    const auto request = parse(words);
    ASSERT_FALSE(request);
    EXPECT_EQ(request.error().reason, Reason::argument);
    EXPECT_FALSE(request.error().hint.empty());
  }
}

TEST(SuggestOptions, AreInTheHelp) {
  const std::string text = suggest_help_text();
  for (const char* option : {"--read", "--write", "--json", "--name", "--timeout", "125"})
    EXPECT_THAT(text, HasSubstr(option));
}

TEST(PermissiveGrants, ShowNoPlaceThatACellCannotHaveAndNothingWritable) {
  const auto grants = permissive_grants({});
  EXPECT_FALSE(grants.empty());
  for (const Grant& grant : grants) {
    EXPECT_TRUE(check_grant_place(grant.inside)) << grant.inside;
    EXPECT_FALSE(grant.write) << grant.inside;
    EXPECT_NE(grant.inside, "/run");  // the sockets of the host's daemons
    EXPECT_NE(grant.inside, "/tmp");
  }
}

TEST(PermissiveGrants, LeaveTheUsersOwnAsTheyAre) {
  const std::vector<Grant> given = {{"/var", "/var", true}};
  const auto grants = permissive_grants(given);
  EXPECT_EQ(std::ranges::count(grants, "/var", &Grant::inside), 1);
  EXPECT_TRUE(std::ranges::find(grants, "/var", &Grant::inside)->write);
}

}  // namespace
}  // namespace sallyport
