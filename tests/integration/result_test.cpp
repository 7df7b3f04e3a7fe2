// The shape of the JSON result: what a program that reads it may rely on.
#include <gmock/gmock.h>

#include <set>

#include "cell/spec.h"
#include "support/cell_result.h"

namespace sallyport::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Outcomes : public CellTest {
 protected:
  static CellResult of(std::vector<std::string> args) {
    args.insert(args.begin(), "--json");
    return CellResult(run_cell(GetParam(), args));
  }
};

std::set<std::string> keys_of(const boost::json::value& object) {
  std::set<std::string> keys;
  for (const auto& [key, value] : object.as_object())
    keys.insert(key);
  return keys;
}

std::string layer(const CellResult& result, std::string_view name) {
  return std::string(result.json.at("isolation").at("layers").at(name).as_string());
}

using Keys = std::set<std::string>;

TEST_P(Outcomes, OfASuccessHaveTheseFieldsAndNoOthers) {
  const CellResult result = of({"--", "echo", "text"});
  EXPECT_EQ(keys_of(result.json), (Keys{"call_id", "status", "output", "error", "exit_code",
                                        "truncated", "limits_hit", "refused_syscalls", "artifacts",
                                        "findings", "usage", "execution_ms", "isolation"}));
  EXPECT_EQ(result.text("status"), "success");
  EXPECT_EQ(result.text("output"), "text\n");
  EXPECT_EQ(result.text("error"), "");
  EXPECT_EQ(result.json.at("exit_code"), 0);
  EXPECT_EQ(result.json.at("truncated"), false);
  EXPECT_TRUE(result.json.at("limits_hit").as_array().empty());
  EXPECT_TRUE(result.json.at("refused_syscalls").as_object().empty());
  EXPECT_TRUE(result.json.at("artifacts").as_array().empty());
  EXPECT_TRUE(result.json.at("findings").as_array().empty());
  EXPECT_TRUE(result.json.at("execution_ms").is_int64());
}

TEST_P(Outcomes, CountUsageInWholeNumbers) {
  const CellResult result = of({"--", "true"});
  const auto& usage = result.json.at("usage").as_object();
  Keys expected{"wall_us",           "cpu_user_us",   "cpu_system_us",
                "peak_memory_bytes", "processes",     "output_bytes",
                "network_requests",  "network_bytes", "final"};
  // Block I/O is counted by a cgroup alone.
  if (usage.contains("read_bytes")) expected.insert({"read_bytes", "write_bytes"});
  EXPECT_EQ(keys_of(usage), expected);
  for (const auto& [key, value] : usage) {
    if (key == "final")
      EXPECT_TRUE(value.as_bool());
    else
      EXPECT_TRUE(value.is_int64() && value.as_int64() >= 0) << key << ": " << value;
  }
  EXPECT_EQ(result.usage("network_requests"), 0);
}

TEST_P(Outcomes, ListEveryLayerThatCanBeRequired) {
  const CellResult result = of({"--", "true"});
  EXPECT_EQ(result.json.at("isolation").at("tier"), "process");
  Keys known;
  for (const LayerText& text : kLayers)
    known.emplace(text.name);
  EXPECT_EQ(keys_of(result.json.at("isolation").at("layers")), known);
  for (const char* name : {"mount", "pid", "ipc", "uts", "cgroup_namespace"})
    EXPECT_EQ(layer(result, name), "own") << name;
  EXPECT_EQ(layer(result, "net"), "loopback");
  EXPECT_EQ(layer(result, "capabilities"), "none");
  EXPECT_EQ(layer(result, "seccomp"), "default");
  EXPECT_EQ(layer(result, "disk"), "bounded");
  EXPECT_GE(std::stoi(layer(result, "landlock")), 2);
}

TEST(OutcomesOfRoot, NameTheStrongestLayers) {
  const CellResult result(run_cell(As::root, {"--json", "--", "true"}));
  EXPECT_EQ(layer(result, "user"), "own uid");
  EXPECT_THAT(layer(result, "cgroup"), testing::AnyOf("v1", "v2"));
  EXPECT_EQ(layer(result, "memory"), "cgroup");
  EXPECT_EQ(layer(result, "groups"), "dropped");
}

TEST(OutcomesOfUser, NameTheWeakerLayersAsSuch) {
  const CellResult result(run_cell(As::user, {"--json", "--", "true"}));
  EXPECT_EQ(layer(result, "user"), "single uid");
  EXPECT_EQ(layer(result, "groups"), "none") << "this user has none to inherit";
  if (layer(result, "cgroup") == "none") EXPECT_EQ(layer(result, "memory"), "rlimit and watcher");
  const CellResult member(
      run_cell({"--json", "--", "true"}, RunOptions{.as = As::user, .groups = {54321}}));
  EXPECT_EQ(layer(member, "groups"), "inherited");
}

TEST_P(Outcomes, SayThatADirectGrantIsUnbounded) {
  TempDir directory(GetParam());
  EXPECT_EQ(layer(of({"--write", directory.path(), "--", "true"}), "disk"), "unbounded");
  EXPECT_EQ(layer(of({"--write", directory.path(), "--write-mode", "copy", "--", "true"}), "disk"),
            "bounded");
  EXPECT_EQ(layer(of({"--read", directory.path(), "--", "true"}), "disk"), "bounded");
}

TEST_P(Outcomes, NameTheProfileOfSystemCalls) {
  EXPECT_EQ(layer(of({"--syscalls", "node", "--", "true"}), "seccomp"), "node");
}

TEST_P(Outcomes, OfAFailureCarryItsCodeAndReason) {
  const CellResult result = of({"--", "sh", "-c", "exit 9"});
  EXPECT_EQ(result.text("status"), "error");
  EXPECT_EQ(result.text("reason"), "exit");
  EXPECT_EQ(result.json.at("exit_code"), 9);
}

TEST_P(Outcomes, OfAKillCarryReasonMessageAndHintAndNoCode) {
  const CellResult result = of({"--timeout", "100ms", "--", "sleep", "99"});
  EXPECT_TRUE(killed_for(result, "timeout", 124));
  EXPECT_THAT(result.text("hint"), HasSubstr("--timeout"));
}

TEST_P(Outcomes, OfARefusalSayThatNothingRan) {
  const CellResult result = of({"--read", "/no/such/path", "--", "echo", "ran"});
  EXPECT_EQ(result.exit_code, 125);
  EXPECT_EQ(result.text("status"), "blocked");
  EXPECT_EQ(result.text("reason"), "argument");
  EXPECT_THAT(result.text("message"), HasSubstr("/no/such/path"));
  EXPECT_EQ(result.text("output"), "");
  EXPECT_FALSE(result.json.contains("exit_code"));
  EXPECT_TRUE(result.json.at("isolation").at("layers").as_object().empty());
}

TEST_P(Outcomes, HaveAnIdOfTheirOwn) {
  std::set<std::string> ids;
  for (int i = 0; i < 5; ++i) {
    const std::string id = of({"--", "true"}).text("call_id");
    EXPECT_EQ(id.size(), 32u) << id;
    EXPECT_EQ(id.find_first_not_of("0123456789abcdef"), std::string::npos) << id;
    ids.insert(id);
  }
  EXPECT_EQ(ids.size(), 5u);
}

TEST_P(Outcomes, CountRefusedSystemCallsByName) {
  const CellResult result = of({"--", "sh", "-c", "unshare -U true; unshare -U true; true"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.json.at("refused_syscalls").as_object().at("unshare"), 2);
  EXPECT_THAT(result.limits_hit(), Contains("syscall:unshare"));
}

TEST_P(Outcomes, EndACellThatTriesTooManyRefusedSystemCalls) {
  const CellResult result =
      of({"--timeout", "100s", "--", "python3", "-c",
          "import ctypes\nlibc = ctypes.CDLL(None)\nwhile True: libc.unshare(0x10000000)"});
  EXPECT_TRUE(killed_for(result, "syscall"));
}

TEST_P(Outcomes, ListFilesThatWereCopiedOut) {
  TempDir directory(GetParam());
  const CellResult result(run_cell({"--json", "--out", "*.txt", "--", "sh", "-c",
                                    "echo 12345 > a.txt; ln -s /etc/passwd b.txt; echo no > c.log"},
                                   RunOptions{.as = GetParam(), .cwd = directory.path()}));
  const auto& artifacts = result.json.at("artifacts").as_array();
  ASSERT_EQ(artifacts.size(), 1u) << result;
  EXPECT_EQ(keys_of(artifacts[0]), (Keys{"name", "size"}));
  EXPECT_EQ(artifacts[0].at("name"), "a.txt");
  EXPECT_EQ(artifacts[0].at("size"), 6);
  const auto& findings = result.json.at("findings").as_array();
  ASSERT_EQ(findings.size(), 1u) << result;
  EXPECT_EQ(keys_of(findings[0]), (Keys{"kind", "path", "why"}));
  EXPECT_EQ(findings[0].at("kind"), "not_exported");
  EXPECT_EQ(findings[0].at("path"), "b.txt");
  EXPECT_EQ(read_file(directory / "a.txt"), "12345\n");
}

TEST_P(Outcomes, AreToldInWordsWithVerbose) {
  const Ran ran = run_cell(GetParam(), {"--verbose", "--", "true"});
  EXPECT_EQ(ran.out, "");
  for (const LayerText& text : kLayers)
    EXPECT_THAT(ran.err, HasSubstr("sallyport: layer " + std::string(text.name) + ": "));
  EXPECT_THAT(ran.err, HasSubstr("ms wall"));
}

TEST_P(Outcomes, ShowTheLaunchStepByStepWithTimings) {
  const Ran ran = run_cell(GetParam(), {"--timings", "--", "true"});
  EXPECT_EQ(ran.out, "");
  for (const char* step : {"prepare", "new root", "landlock", "seccomp", "start", "total"})
    EXPECT_THAT(ran.err, HasSubstr(std::string(" us  ") + step + "\n"));
}

SALLYPORT_FOR_ROOT_AND_USER(Outcomes);

}  // namespace
}  // namespace sallyport::test
