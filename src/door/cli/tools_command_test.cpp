#include "door/cli/tools_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/json.h"

namespace sallyport {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kPolicy = SALLYPORT_SOURCE_DIR "/examples/shop.yaml";

Result<ToolsRequest> parse(std::initializer_list<const char*> words) {
  return parse_tools(std::span(words.begin(), words.size()));
}

struct Ran {
  int code;
  std::string out, err;
};

Ran run(std::initializer_list<const char*> words) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int code = tools_command(std::span(words.begin(), words.size()));
  return {code, testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
}

TEST(ToolsCommand, TakesListAndItsOptions) {
  EXPECT_EQ(parse({"list", "--policy", "p", "--format", "mcp"})->format, DefinitionFormat::mcp);
  EXPECT_EQ(parse({"--policy", "p", "list", "--as", "vera"})->caller, "vera");
  EXPECT_FALSE(parse({"list", "--policy", "p"})->format);
  EXPECT_FALSE(parse({"--policy", "p"}));
  EXPECT_FALSE(parse({"lst", "--policy", "p"}));
  EXPECT_FALSE(parse({"list"}));
  EXPECT_FALSE(parse({"list", "--policy", "p", "--format", "gemini"}));
  EXPECT_TRUE(parse({"--help"})->help);
}

TEST(ToolsCommand, PeopleSeeWhatACallerMayCall) {
  const Ran ran = run({"list", "--policy", kPolicy, "--as", "vera"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("get_item(id)\n    Get one item.\n    needs read:data\n"),
                             Not(HasSubstr("delete_item"))));
  EXPECT_THAT(run({"list", "--policy", kPolicy}).out, HasSubstr("delete_item(id)"));
}

TEST(ToolsCommand, EveryFormatIsJsonWithTheSameTools) {
  for (const char* format : {"openai", "anthropic", "mcp", "json"}) {
    const Ran ran = run({"list", "--policy", kPolicy, "--as", "edgar", "--format", format});
    EXPECT_EQ(ran.code, 0) << ran.err;
    const auto parsed = parse_json(ran.out);
    ASSERT_TRUE(parsed) << format;
    const json::value& list = parsed->is_object() ? parsed->at("tools") : *parsed;
    EXPECT_EQ(list.as_array().size(), 3U) << format;
  }
}

TEST(ToolsCommand, MarksWhatIsAlwaysRefusedAndLeavesItOutOfListsForModels) {
  const std::string path = testing::TempDir() + "tools_command_unavailable.yaml";
  std::ofstream(path) << "version: 1\ntools:\n"
                         "  good: {run: [x], needs: []}\n"
                         "  shared: {run: [x], needs: [], dangerously_share_network: true}\n";
  EXPECT_THAT(
      run({"list", "--policy", path.c_str()}).out,
      AllOf(HasSubstr("good()\n"), HasSubstr("shared()  [unavailable]\n"),
            HasSubstr("every call is refused: this version lacks the network of this machine")));
  for (const char* format : {"openai", "anthropic", "mcp"}) {
    const Ran ran = run({"list", "--policy", path.c_str(), "--format", format});
    EXPECT_THAT(ran.out, AllOf(HasSubstr("\"good\""), Not(HasSubstr("shared")),
                               Not(HasSubstr("description"))));
    EXPECT_THAT(ran.err, HasSubstr("refuses every call: shared (the network of this machine)"));
  }
  const Ran all = run({"list", "--policy", path.c_str(), "--format", "json"});
  EXPECT_THAT(all.out, HasSubstr("\"shared\""));
  EXPECT_EQ(all.err, "");
}

TEST(ToolsCommand, AnUnknownCallerIsAnErrorAndNotEverybody) {
  const Ran ran = run({"list", "--policy", kPolicy, "--as", "vara"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.out, "");
  EXPECT_THAT(ran.err, HasSubstr("vera"));
}

}  // namespace
}  // namespace sallyport
