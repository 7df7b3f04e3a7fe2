#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tool/cell_call.h"

namespace sallyport {
namespace {

// What the environment of a run_command holds in the end: the last of each name.
std::map<std::string, std::string> environment_of(const std::string& command) {
  Tool tool;
  tool.name = "command";
  tool.kind = ToolKind::builtin;
  tool.builtin = Builtin::run_command;
  tool.commands.allow = {{"git"}, {"env"}, {"sh"}, {"ls"}};
  tool.environment = {{"LANG", "C"}, {"GIT_CONFIG_COUNT", "0"}};
  const Envelope envelope;
  const CallRequest request;
  const json::object arguments{{"command", command}};
  const auto spec = make_cell_spec({.tool = tool,
                                    .envelope = envelope,
                                    .limits = {},
                                    .arguments = arguments,
                                    .request = request,
                                    .program = {}});
  EXPECT_TRUE(spec) << spec.error().message;
  std::map<std::string, std::string> environment;
  if (spec)
    for (const auto& [key, value] : spec->environment)
      environment[key] = value;
  return environment;
}

// A repository of the caller's making must not choose programs that git starts, however git itself
// is started, and whatever the policy's own environment says.
TEST(GitSettings, AreForcedOnEveryCommand) {
  for (const char* command :
       {"git status", "git log -5", "env LANG=C git status", "sh -c 'git status'"}) {
    const auto environment = environment_of(command);
    std::map<std::string, std::string> settings;
    const int count = std::stoi(environment.at("GIT_CONFIG_COUNT"));
    for (int i = 0; i < count; ++i)
      settings[environment.at("GIT_CONFIG_KEY_" + std::to_string(i))] =
          environment.at("GIT_CONFIG_VALUE_" + std::to_string(i));
    EXPECT_THAT(settings,
                testing::UnorderedElementsAre(testing::Pair("safe.bareRepository", "explicit"),
                                              testing::Pair("core.fsmonitor", "false"),
                                              testing::Pair("core.hooksPath", "/dev/null")))
        << command;
    EXPECT_EQ(environment.at("LANG"), "C") << command;
  }
}

}  // namespace
}  // namespace sallyport
