#include "tool/argv_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/rules_fixture.h"

namespace sallyport {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Pieces as the policy has them: "{x}" is a placeholder, anything else literal.
Template element(std::initializer_list<std::string> pieces) {
  Template made;
  for (const std::string& piece : pieces)
    made.pieces.push_back(
        piece.starts_with('{')
            ? Template::Piece{.text = {}, .argument = piece.substr(1, piece.size() - 2)}
            : Template::Piece{.text = piece, .argument = {}});
  return made;
}

Tool tool_with(std::vector<Template> arguments, std::initializer_list<std::string> names) {
  Tool tool;
  tool.run = {element({"/bin/tool"})};
  for (Template& made : arguments)
    tool.run.push_back(std::move(made));
  for (const std::string& name : names)
    tool.args.push_back(argument(name, "{}"));
  return tool;
}

// The elements behind the program, for one argument x.
Result<std::vector<std::string>> fill(std::vector<Template> arguments, const json::value& x) {
  const Tool tool = tool_with(std::move(arguments), {"x"});
  auto argv = fill_templates(tool, {{"x", x}});
  if (argv) argv->erase(argv->begin());
  return argv;
}

TEST(ArgvTemplate, MakesOneElementOfAValueWhateverItHolds) {
  for (const char* value :
       {"",      " ",  "a b",    "a\nb", "a\tb",  "$(id)", "`id`",     "; rm -rf /",
        "a' 'b", "\"", "*",      "~",    "&& id", "| id",  "> /tmp/x", "--",
        "$IFS",  "\\", "\u202e", "日本", "%s%n",  "a\r\nb"}) {
    if (std::string_view(value).starts_with('-')) continue;
    const auto argv = fill({element({"{x}"})}, value);
    ASSERT_TRUE(argv) << value;
    EXPECT_THAT(*argv, ElementsAre(value));
  }
}

TEST(ArgvTemplate, NeverExpandsAValueAgain) {
  const Tool tool =
      tool_with({element({"{x}"}), element({"{y}"}), element({"a={x}={y}"})}, {"x", "y"});
  const auto argv = fill_templates(tool, {{"x", "{y}"}, {"y", "{{x}} {arguments}"}});
  ASSERT_TRUE(argv);
  EXPECT_THAT(*argv, ElementsAre("/bin/tool", "{y}", "{{x}} {arguments}", "a={x}={y}"));
  const auto joined = fill_templates(tool_with({element({"a=", "{x}", "=", "{y}"})}, {"x", "y"}),
                                     {{"x", "{y}"}, {"y", "{x}"}});
  ASSERT_TRUE(joined);
  EXPECT_THAT(*joined, ElementsAre("/bin/tool", "a={y}={x}"));
}

TEST(ArgvTemplate, WritesWhatIsNotAStringAsCanonicalJson) {
  const auto text = [](const json::value& value) {
    return fill({element({"{x}"})}, value)->front();
  };
  EXPECT_EQ(text(50), "50");
  EXPECT_EQ(text(1.5), "1.5");
  EXPECT_EQ(text(1.0), "1.0");
  EXPECT_EQ(text(true), "true");
  EXPECT_EQ(text(nullptr), "null");
  EXPECT_EQ(text(json::array{"b", 1}), R"(["b",1])");
  EXPECT_EQ(text(json::object{{"b", 1}, {"a", "x"}}), R"({"a":"x","b":1})");
}

TEST(ArgvTemplate, GivesAllArgumentsAsOneObject) {
  const Tool tool =
      tool_with({element({"{arguments}"}), element({"--all=", "{arguments}"})}, {"x", "y"});
  const auto argv = fill_templates(tool, {{"y", "-rf"}, {"x", 1}});
  ASSERT_TRUE(argv);
  EXPECT_THAT(*argv,
              ElementsAre("/bin/tool", R"({"x":1,"y":"-rf"})", R"(--all={"x":1,"y":"-rf"})"));
}

TEST(ArgvTemplate, RefusesAValueThatWouldBeReadAsAnOption) {
  const std::vector<std::vector<std::string>> elements = {
      {"{x}"}, {"{x}", "tail"}, {"-", "{x}"}, {"--", "{x}"}};
  for (const auto& pieces : elements) {
    Template made;
    for (const std::string& piece : pieces)
      made.pieces.push_back(element({piece}).pieces.front());
    for (const json::value& value : {json::value("-"), json::value("--output=/etc/x"),
                                     json::value("-rf"), json::value(-5), json::value(-0.5)}) {
      const auto argv = fill({made}, value);
      ASSERT_FALSE(argv) << pieces.front() << " " << json::serialize(value);
      EXPECT_EQ(argv.error().reason, Reason::argument);
      EXPECT_THAT(argv.error().message, HasSubstr("'x' begins with '-'"));
    }
  }
}

TEST(ArgvTemplate, RefusesADashThatComesToTheFrontThroughEmptyValues) {
  const Tool tool = tool_with({element({"{x}", "{y}"})}, {"x", "y"});
  const auto argv = fill_templates(tool, {{"x", ""}, {"y", "-rf"}});
  ASSERT_FALSE(argv);
  EXPECT_THAT(argv.error().message, HasSubstr("'y' begins with '-'"));
  const auto made_of_two = fill_templates(tool, {{"x", "-"}, {"y", "rf"}});
  EXPECT_FALSE(made_of_two);
}

TEST(ArgvTemplate, TakesADashWhereItCannotBeAnOptionOrWhereTheRuleAllowsIt) {
  EXPECT_THAT(*fill({element({"--since=", "{x}"})}, "-5 days"), ElementsAre("--since=-5 days"));
  EXPECT_THAT(*fill({element({"a", "{x}"})}, "-rf"), ElementsAre("a-rf"));
  Tool tool = tool_with({element({"{x}"})}, {"x"});
  tool.args[0].dash = true;
  EXPECT_THAT(*fill_templates(tool, {{"x", -5}}), ElementsAre("/bin/tool", "-5"));
}

TEST(ArgvTemplate, RefusesANul) {
  const auto argv = fill({element({"a", "{x}"})}, json::string(std::string_view("safe\0evil", 9)));
  ASSERT_FALSE(argv);
  EXPECT_THAT(argv.error().message, HasSubstr("NUL"));
}

TEST(ArgvTemplate, LeavesOutTheElementOfAMissingOptionalArgumentAndNothingElse) {
  Tool tool = tool_with({element({"--name"}), element({"{x}"}), element({"{y}"})}, {"x", "y"});
  tool.args[0].optional = true;
  EXPECT_THAT(*fill_templates(tool, {{"y", "b"}}), ElementsAre("/bin/tool", "--name", "b"));
  EXPECT_THAT(*fill_templates(tool, {{"x", ""}, {"y", "b"}}),
              ElementsAre("/bin/tool", "--name", "", "b"));
}

TEST(ArgvTemplate, RefusesAMissingArgumentThatCannotBeLeftOut) {
  Tool tool = tool_with({element({"--name=", "{x}"})}, {"x"});
  tool.args[0].optional = true;
  EXPECT_FALSE(fill_templates(tool, {}));
  EXPECT_FALSE(fill_templates(tool_with({element({"{x}"})}, {"x"}), {}));
}

TEST(ArgvTemplate, RefusesWhatTheKernelWouldNotTake) {
  EXPECT_TRUE(fill({element({"{x}"})}, json::string(kLongestElement, 'a')));
  EXPECT_FALSE(fill({element({"{x}"})}, json::string(kLongestElement + 1, 'a')));
  std::vector<Template> many(8, element({"{x}"}));
  EXPECT_FALSE(fill(many, json::string(kLongestElement, 'a')));
}

TEST(ArgvTemplate, NeverLetsACallerChooseTheProgram) {
  Tool tool = tool_with({}, {"x"});
  tool.run = {element({"/bin/", "{x}"})};
  EXPECT_FALSE(fill_templates(tool, {{"x", "sh"}}));
  tool.run.clear();
  EXPECT_FALSE(fill_templates(tool, {{"x", "sh"}}));
}

TEST(ArgvTemplate, TakesAPathForWholeWhetherOrNotItsPlaceStandsBeforeIt) {
  Tool tool =
      tool_with({element({"{p}"}), element({"/data/", "{p}"}), element({"--in=/data/", "{p}"}),
                 element({"--in=", "{p}"}), element({"{x}", "{p}"})},
                {"p", "x"});
  tool.args[0].type = ArgumentType::path;
  tool.args[0].below = "/srv/public";
  FileRule rule;
  rule.host = "/srv/public";
  rule.inside = "/data";
  tool.files.read.push_back(rule);
  const auto argv = fill_templates(tool, {{"p", "/data/a"}, {"x", "y/data/"}});
  ASSERT_TRUE(argv);
  EXPECT_THAT(*argv, ElementsAre("/bin/tool", "/data/a", "/data/a", "--in=/data/a", "--in=/data/a",
                                 "y/data//data/a"));
}

}  // namespace
}  // namespace sallyport
