#include "door/cli/explain_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"

namespace sallyport {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kPolicy = SALLYPORT_SOURCE_DIR "/examples/policy.yaml";

Result<ExplainRequest> parse(std::initializer_list<const char*> words) {
  return parse_explain(std::span(words.begin(), words.size()));
}

struct Ran {
  int code;
  std::string out, err;
};

Ran run(std::initializer_list<const char*> words) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int code = explain_command(std::span(words.begin(), words.size()));
  return {code, testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
}

TEST(ExplainCommand, ReadsOptionsAndTheToolInAnyOrder) {
  for (const auto& request :
       {parse({"python", "--policy", "p.yaml", "--as", "ann", "--json"}),
        parse({"--json", "--as=ann", "--policy", "p.yaml", "python"}),
        parse({"--policy=p.yaml", "python", "--json", "--as", "ann"}),
        parse({"--policy=p.yaml", "--json", "--as", "ann", "--", "python"})}) {
    ASSERT_TRUE(request);
    EXPECT_EQ(request->tool, "python");
    EXPECT_EQ(request->policy, "p.yaml");
    EXPECT_EQ(request->caller, "ann");
    EXPECT_TRUE(request->json);
  }
  EXPECT_EQ(parse({"--policy=p", "--", "--json"})->tool, "--json");
}

TEST(ExplainCommand, SaysWhatIsMissingOrTooMuch) {
  EXPECT_THAT(parse({"--policy", "p"}).error().message, HasSubstr("no tool"));
  EXPECT_THAT(parse({"python"}).error().message, HasSubstr("--policy"));
  EXPECT_THAT(parse({"a", "b", "--policy", "p"}).error().message, HasSubstr("'b'"));
  EXPECT_FALSE(parse({"a", "--policy", "p", "--policy", "q"})) << "apart from each other, too";
  EXPECT_FALSE(parse({"--policy", "p", "a", "--policy", "q"}));
  EXPECT_FALSE(parse({"a", "--polcy", "p"}));
  EXPECT_FALSE(parse({"a", "--policy", "p", "--as", "--json"}));
}

TEST(ExplainCommand, HelpNamesEveryOptionAndExitCode) {
  EXPECT_THAT(explain_help_text(), AllOf(HasSubstr("--as CALLER"), HasSubstr("--policy FILE"),
                                         HasSubstr("--json"), HasSubstr("\n  2 ")));
  EXPECT_EQ(run({"--help"}).code, 0);
}

TEST(ExplainCommand, ExplainsEveryToolOfTheExample) {
  for (const char* tool : {"python", "list_orders", "customer_report", "delete_user", "refund",
                           "query", "shell", "github"}) {
    const Ran ran = run({tool, "--policy", kPolicy});
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(ran.out, AllOf(HasSubstr("Who may call it"), HasSubstr("At worst, one call can")))
        << tool;
  }
  EXPECT_THAT(
      run({"query", "--policy", kPolicy, "--as", "helpdesk"}).out,
      AllOf(HasSubstr("For helpdesk (role support, tenant acme)"), HasSubstr("Which tables"),
            HasSubstr("orders: all columns"), Not(HasSubstr("customers:"))));
}

TEST(ExplainCommand, ACallerWhoMayNotIsExplainedAndAnUnknownOneIsAnError) {
  const Ran refused = run({"delete_user", "--policy", kPolicy, "--as", "viewer_1"});
  EXPECT_EQ(refused.code, 0);
  EXPECT_THAT(refused.out, HasSubstr("viewer_1 may not call delete_user"));
  const Ran unknown = run({"delete_user", "--policy", kPolicy, "--as", "viewer_2"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("viewer_1"));
  EXPECT_EQ(run({"delete_usr", "--policy", kPolicy}).code, 2);
  EXPECT_EQ(run({"delete_user", "--policy", "/nonexistent"}).code, 2);
}

TEST(ExplainCommand, TheJsonIsJson) {
  const Ran ran = run({"python", "--policy", kPolicy, "--json"});
  const auto parsed = parse_json(ran.out);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->at("tool"), "python");
  EXPECT_GE(parsed->at("callers").as_array().size(), 2U);
  EXPECT_TRUE(parsed->at("unavailable").as_array().empty());
}

}  // namespace
}  // namespace sallyport
