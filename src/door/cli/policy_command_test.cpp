#include "door/cli/policy_command.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/json.h"
#include "policy/starter.h"

namespace sallyport {
namespace {

// What the command printed, and how it ended.
struct Ran {
  int code = 0;
  std::string out, err;
};

Ran policy(std::vector<const char*> words) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Ran ran;
  ran.code = policy_command(words);
  ran.out = testing::internal::GetCapturedStdout();
  ran.err = testing::internal::GetCapturedStderr();
  return ran;
}

TEST(PolicyCommand, InitPrintsAPolicyThatLoads) {
  const Ran plain = policy({"init"});
  EXPECT_EQ(plain.code, 0);
  EXPECT_EQ(plain.out, starter_policy());
  const Ran with_directory = policy({"init", "--dir", "/usr"});
  EXPECT_EQ(with_directory.code, 0);
  EXPECT_TRUE(Policy::parse(with_directory.out));
  EXPECT_EQ(policy({"init", "--dir", "/nonexistent"}).code, 2);
  EXPECT_EQ(policy({"init", "--dir", "/"}).code, 2);
  EXPECT_EQ(policy({"init", "x"}).code, 2);
}

TEST(PolicyCommand, SchemaPrintsJson) {
  const Ran ran = policy({"schema"});
  EXPECT_EQ(ran.code, 0);
  const auto schema = parse_json(ran.out);
  ASSERT_TRUE(schema);
  EXPECT_TRUE(schema->get_object().contains("$defs"));
}

TEST(PolicyCommand, CheckSaysWhatIsWrongAndExitsWithOne) {
  const std::string example = std::string(SALLYPORT_SOURCE_DIR) + "/examples/policy.yaml";
  const Ran good = policy({"check", example.c_str()});
  EXPECT_EQ(good.code, 0) << good.out;
  EXPECT_NE(good.out.find("is good: 8 tools, 6 callers"), std::string::npos) << good.out;

  const Ran bad = policy({"check", "/nonexistent.yaml"});
  EXPECT_EQ(bad.code, 1);
  EXPECT_NE(bad.out.find("/nonexistent.yaml: the file cannot be read"), std::string::npos);

  EXPECT_EQ(policy({"check"}).code, 2);
  EXPECT_EQ(policy({"check", "a", "b"}).code, 2);
  EXPECT_EQ(policy({"check", "a", "--jsno"}).code, 2);
  EXPECT_EQ(policy({"check", "--help"}).code, 0);
}

TEST(PolicyCommand, CheckCountsInWords) {
  const PolicyResult one = Policy::parse(
      "version: 1\nroles: {r: []}\ncallers: {c: {role: r}}\ntools: {t: {run: [x], needs: []}}\n");
  EXPECT_NE(check_text("f", one).find("f is good: 1 tool, 1 caller, 1 role; hash "),
            std::string::npos)
      << check_text("f", one);
  EXPECT_NE(check_text("f", Policy::parse("version: 1\n")).find("0 tools, 0 callers, 0 roles"),
            std::string::npos);
}

TEST(PolicyCommand, CheckAsJsonHasEveryProblemWithItsPlace) {
  const PolicyResult result = Policy::parse("version: 1\nrolls: {}\n", "f");
  const auto parsed = parse_json(check_json("f", result));
  ASSERT_TRUE(parsed);
  const json::object& object = parsed->get_object();
  EXPECT_FALSE(object.at("ok").get_bool());
  const json::object& problem = object.at("problems").at(0).get_object();
  EXPECT_EQ(problem.at("line"), json::value(2));
  EXPECT_EQ(problem.at("column"), json::value(1));
  EXPECT_EQ(problem.at("rule"), json::value("rolls"));
  EXPECT_EQ(problem.at("hint"), json::value("did you mean 'roles'?"));
  EXPECT_EQ(check_text("f", result),
            "f:2:1: rolls: there is no key 'rolls' here (did you mean 'roles'?)\n"
            "1 problem; nothing is loaded\n");
}

TEST(PolicyCommand, AnUnknownCommandIsNamedWithTheNearestOne) {
  const Ran ran = policy({"chekc"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("did you mean 'check'?"), std::string::npos) << ran.err;
  EXPECT_EQ(policy({}).code, 2);
  EXPECT_EQ(policy({"--help"}).code, 0);
}

}  // namespace
}  // namespace sallyport
