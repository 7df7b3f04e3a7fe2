#include "door/cli/suggest_proposal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "sallyport/policy.h"

namespace sallyport {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

TEST(Roomy, IsTwiceRoundedUpAndNeverBelowTheFloor) {
  EXPECT_EQ(roomy(Duration(milliseconds(10)), seconds(2)), seconds(2));
  EXPECT_EQ(roomy(Duration(milliseconds(2'600)), seconds(2)), seconds(10));
  EXPECT_EQ(roomy(Duration(seconds(45)), seconds(2)), seconds(120));
  EXPECT_EQ(roomy(Duration(seconds(3'000)), seconds(2)), std::chrono::hours(2));
  EXPECT_EQ(roomy(ByteSize{0}, 32_MiB), 32_MiB);
  EXPECT_EQ(roomy(40_MiB, 32_MiB), 128_MiB);
  EXPECT_EQ(roomy(64_MiB, 32_MiB), 128_MiB);
  EXPECT_LE(roomy(kGreatestSize, 1_MiB).bytes, kGreatestSize.bytes);
  EXPECT_EQ(roomy(1, 8), 8U);
  EXPECT_EQ(roomy(5, 8), 16U);
  EXPECT_EQ(roomy(1'000'000, 8), 32'768U);
}

TEST(ToolName, IsMadeOfThePrograms) {
  EXPECT_EQ(tool_name("/usr/bin/python3"), "python3");
  EXPECT_EQ(tool_name("list-orders.sh"), "list_orders_sh");
  EXPECT_EQ(tool_name("7z"), "tool");
  EXPECT_EQ(tool_name("/opt/\xff\n: x"), "x");
  EXPECT_EQ(tool_name("---"), "tool");
  EXPECT_EQ(tool_name(std::string(500, 'a')).size(), 40U);
}

TEST(YamlQuoted, HoldsAnythingOnOneLine) {
  EXPECT_EQ(yaml_quoted("/srv/shop"), R"("/srv/shop")");
  EXPECT_EQ(yaml_quoted("a\"b\\c"), R"("a\"b\\c")");
  EXPECT_EQ(yaml_quoted("x\n  - /etc/shadow"), R"("x\u000a  - /etc/shadow")");
  EXPECT_EQ(yaml_quoted("\x1b[2J\x7f\t"), R"("\u001b[2J\u007f\u0009")");
  EXPECT_EQ(yaml_quoted("gr\xc3\xbcn"), "\"gr\xc3\xbcn\"");
  EXPECT_EQ(yaml_quoted("\xe2\x80\xa8\xc2\x85\xe2\x80\xae"), R"("\u2028\u0085\u202e")");
  EXPECT_EQ(yaml_quoted("\xf3\xa0\x80\x81"), R"("\U000e0001")");  // a tag, which nobody sees
}

// What every JSON parser reads back as the same text, every YAML parser does.
TEST(YamlQuoted, ReadsBackAsTheSameText) {
  std::string all;
  for (int c = 1; c < 0x80; ++c)
    all.push_back(static_cast<char>(c));
  all += "\xc2\x80\xc3\xa4\xe2\x80\xae\xf0\x9f\x98\x80";
  EXPECT_EQ(boost::json::parse(yaml_quoted(all)).as_string(), all);
}

class ProposalText : public testing::Test {
 protected:
  Proposal made() { return propose("tool", spec_, {}, seen_, outcome_); }
  std::string yaml() { return proposal_yaml(made(), seen_, outcome_); }

  CellSpec spec_{.command = {"/bin/true"}};
  Observation seen_;
  Outcome outcome_;
};

TEST_F(ProposalText, OfNothingIsTheStrictestTool) {
  outcome_.exit_code = 0;
  EXPECT_EQ(yaml(),
            R"(# Proposed by `sallyport policy suggest` from one run, which ended with exit code 0.
# Another run may need more. Take out what the tool should not have.
tools:
  tool:
    run: ["/bin/true"]
    needs: []  # permissions that a caller must have; none of them: everybody
    files:
      read: []
      write: []
    network: none
    syscalls: python-data  # default without IP sockets, System V IPC and message queues
    limits: { timeout: 2s, cpu: 1s, memory: 32MiB, processes: 8, disk: 1MiB, max_output: 10kB }
)");
}

TEST_F(ProposalText, ChoosesTheNarrowestProfileThatRefusedNothing) {
  EXPECT_EQ(made().syscalls, "python-data");
  seen_.refusing_profiles = {"python-data"};
  EXPECT_EQ(made().syscalls, "node");
  seen_.refusing_profiles = {"python-data", "node"};
  EXPECT_EQ(made().syscalls, "default");
  seen_.refusing_profiles = {"python-data", "node", "default"};
  EXPECT_EQ(made().syscalls, "build");
}

TEST_F(ProposalText, NamesHostsWithTheirPorts) {
  seen_.names = {{"api.example.com", {443, 8443}}, {"db.example.com", {5432}},
                 {"only.example.com", {}},         {"plain.example.com", {80}},
                 {"redis.example.com", {6379}},    {"_srv.example.com", {443}}};
  seen_.destinations = {{"203.0.113.7", 443}, {"2001:db8::1", 8443}, {"127.0.0.1", 6379}};
  const std::string text = yaml();
  EXPECT_THAT(text, HasSubstr("    network:\n      allow:\n        - \"api.example.com\"\n"));
  for (const char* line :
       {"- \"api.example.com:8443\"\n", "- \"only.example.com\"  # only looked up",
        "- { host: \"plain.example.com\", port: 80, scheme: http }\n",
        "- { host: \"db.example.com\", port: 5432, scheme: postgres }\n",
        "- \"redis.example.com:6379\"  # https is a guess", "#   203.0.113.7:443\n",
        "#   [2001:db8::1]:8443\n", "#   127.0.0.1:6379\n", "#   _srv.example.com\n"})
    EXPECT_THAT(text, HasSubstr(line));
}

// What is proposed must be what a policy file can say.
TEST_F(ProposalText, LoadsAsAPolicy) {
  spec_.command = {"/usr/bin/awk", "{print \"$1\"}", "gr\xc3\xbcn", "\\", "#", "- x: y"};
  spec_.environment = {{"LANG", "C\"\n: {"}};
  seen_.names = {{"api.example.com", {443, 80, 5432, 6379}}, {"b.example.com", {}}};
  seen_.peak_scratch_bytes = 50'000'000;
  spec_.limits.cpus = 2.5;
  Proposal proposal = made();
  proposal.files.read = {{"/srv/a b", "/srv/a b", true}, {"/srv/\"q\"#", "/data: x", false}};
  proposal.files.write = {{"/srv/out", "/out", false}};
  proposal.files.refused_writes = {"/srv/\n  x: y"};
  const std::string text = "version: 1\n" + proposal_yaml(proposal, seen_, outcome_);
  const auto policy = Policy::parse(text);
  for (const PolicyProblem& problem : policy ? std::vector<PolicyProblem>() : policy.error())
    ADD_FAILURE() << to_text(problem) << "\n" << text;
}

TEST_F(ProposalText, EscapesPlaceholdersInTheCommand) {
  spec_.command = {"awk", "{print $1}", "a\n    needs: [admin]"};
  EXPECT_THAT(yaml(),
              HasSubstr("run: [\"awk\", \"{{print $1}}\", \"a\\u000a    needs: [admin]\"]\n"));
}

// Every line of a hostile path stays a comment or a quoted string.
TEST_F(ProposalText, HoldsNoLineThatAToolWrote) {
  const std::string evil = "/srv/x\ntools:\n  evil: { run: [sh] } # \x1b[31m";
  for (auto set : {&SuggestedFiles::refused_writes, &SuggestedFiles::not_in_cells,
                   &SuggestedFiles::not_whole, &SuggestedFiles::unwritable}) {
    Proposal proposal = made();
    (proposal.files.*set).insert(evil);
    proposal.files.read.push_back({evil, evil, true});
    proposal.files.write.push_back({evil, "/in\nside", false});
    const std::string text = proposal_yaml(proposal, seen_, outcome_);
    EXPECT_THAT(text, Not(HasSubstr("\ntools:\n  evil")));
    EXPECT_THAT(text, Not(HasSubstr("\x1b")));
    EXPECT_THAT(text, HasSubstr("# WARNING: this looks like a secret.\n"));
  }
}

TEST_F(ProposalText, KeepsLongListsShort) {
  Proposal proposal = made();
  for (int i = 0; i < 500; ++i)
    proposal.files.refused_writes.insert("/srv/" + std::to_string(i));
  const std::string text = proposal_yaml(proposal, seen_, outcome_);
  EXPECT_LT(std::ranges::count(text, '\n'), 60);
  EXPECT_THAT(text, HasSubstr("and 480 more"));
}

TEST_F(ProposalText, SaysWhenTheRunFailedOrWasNotAllSeen) {
  outcome_.status = Status::error;
  outcome_.exit_code = 3;
  seen_.left_out = 7;
  seen_.unreadable = 2;
  EXPECT_THAT(yaml(), HasSubstr("exit code 3"));
  EXPECT_THAT(yaml(), HasSubstr("INCOMPLETE: it asked for more than is kept; 7 calls"));
  EXPECT_THAT(yaml(), HasSubstr("INCOMPLETE: what 2 calls asked for"));
  outcome_ = {};
  outcome_.status = Status::killed;
  outcome_.reason = Reason::timeout;
  EXPECT_THAT(yaml(), HasSubstr("was killed (timeout)"));
}

TEST_F(ProposalText, AsksForLargerFilesOnlyWhenTheyWereWritten) {
  EXPECT_THAT(yaml(), Not(HasSubstr("file_size")));
  seen_.peak_scratch_bytes = 50'000'000;
  EXPECT_THAT(yaml(), HasSubstr("disk: 128MiB, file_size: 128MiB"));
}

TEST_F(ProposalText, AsksForMoreRefusedCallsAndOutputOnlyWhenThereWereMany) {
  outcome_.refused_syscalls = {{"socket", 300}, {"mount", 100}};
  EXPECT_THAT(yaml(), Not(HasSubstr("refused_syscalls")));
  outcome_.refused_syscalls = {{"socket", 300}, {"mount", 500}};
  outcome_.usage.output_bytes = 6'000'000;
  EXPECT_THAT(yaml(), HasSubstr("max_output_hard: 20MB, refused_syscalls: 2000 }"));
}

TEST_F(ProposalText, IsJsonThatParsesWhateverThePathsHold) {
  seen_.files["/srv/\xff\n\"x"] = {.read = true, .written = true};
  seen_.destinations = {{"203.0.113.7", 443}};
  const auto value = boost::json::parse(observation_json(made(), seen_, outcome_)).as_object();
  EXPECT_EQ(value.at("files").at("read").as_array().size(), 1U);
  EXPECT_EQ(value.at("destinations").at(0).at("port"), 443);
  EXPECT_EQ(value.at("proposal").at("limits").at("memory"), "32MiB");
}

}  // namespace
}  // namespace sallyport
