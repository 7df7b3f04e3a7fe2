#include "policy/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/rules_fixture.h"

namespace sallyport {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

struct Shop {
  Rules rules;
  Role& editor = add_role(rules, "editor", {"execute:code"});
  Role& viewer = add_role(rules, "viewer", {"read:data"});
  Caller& ann = add_caller(rules, "ann", "editor", "acme");
  Caller& bob = add_caller(rules, "bob", "viewer", "acme");
  Tool& python = make_python();

  Tool& make_python() {
    Tool& tool = add_tool(rules, "python", {"execute:code"});
    tool.kind = ToolKind::builtin;
    tool.builtin = Builtin::run_python;
    return tool;
  }
};

// All that is said, a line a fact.
std::string all_of(const Explanation& explanation) {
  std::string text;
  const auto add = [&](const std::vector<ExplainedSection>& sections) {
    for (const ExplainedSection& section : sections) {
      text.append(section.title).append("\n");
      for (const ExplainedFact& fact : section.facts)
        text.append(fact.name).append(": ").append(fact.text).append("\n");
    }
  };
  add(explanation.sections);
  for (const ExplainedCallers& callers : explanation.callers)
    add(callers.sections);
  return text;
}

std::string explained(const Shop& shop, std::string_view caller = "ann") {
  const auto explanation = explain(shop.rules, "python", caller);
  return explanation ? all_of(*explanation) : explanation.error().message;
}

TEST(Explain, AnUnknownNameIsAnErrorWithTheNearestOne) {
  const Shop shop;
  const auto tool = explain(shop.rules, "pyhton");
  ASSERT_FALSE(tool);
  EXPECT_THAT(tool.error().message, HasSubstr("'pyhton'"));
  EXPECT_THAT(tool.error().hint, HasSubstr("python"));
  const auto caller = explain(shop.rules, "python", "amn");
  ASSERT_FALSE(caller);
  EXPECT_THAT(caller.error().hint, HasSubstr("'ann'"));
}

TEST(Explain, WithoutACallerOnlyThoseWhoMayAreExplained) {
  Shop shop;
  add_caller(shop.rules, "abe", "editor", "acme");
  const auto explanation = explain(shop.rules, "python");
  ASSERT_TRUE(explanation);
  ASSERT_EQ(explanation->callers.size(), 1U);
  EXPECT_THAT(explanation->callers[0].names, ElementsAre("abe", "ann"));
  EXPECT_THAT(all_of(*explanation),
              AllOf(HasSubstr("roles: editor\n"), HasSubstr("callers: abe and ann\n")));
}

TEST(Explain, ACallerWithAnAllowanceOfItsOwnStandsAlone) {
  Shop shop;
  add_caller(shop.rules, "abe", "editor", "acme").rates = {per_minute(1)};
  EXPECT_EQ(explain(shop.rules, "python")->callers.size(), 2U);
}

TEST(Explain, ACallerWhoMayNotIsToldWhatIsMissing) {
  const Shop shop;
  EXPECT_THAT(explained(shop, "bob"),
              AllOf(HasSubstr("bob may not call python"), HasSubstr("lacks execute:code"),
                    Not(HasSubstr("At worst"))));
}

TEST(Explain, EveryLimitIsThereWithTheRuleThatDecides) {
  Shop shop;
  shop.editor.limits.timeout = 3s;
  const std::string text = explained(shop);
  EXPECT_THAT(text, HasSubstr("timeout: 3s: wall clock; kills (roles.editor.limits.timeout)"));
#define SALLYPORT_IS_TOLD(limit, type, sentence) \
  EXPECT_THAT(text, AllOf(HasSubstr("\n" #limit ": "), HasSubstr(sentence)));
  SALLYPORT_LIMITS(SALLYPORT_IS_TOLD)
#undef SALLYPORT_IS_TOLD
}

TEST(Explain, CodeOfTheCallerIsCalledThat) {
  EXPECT_THAT(explained(Shop()), HasSubstr("A Python program that the caller writes"));
}

TEST(Explain, ACommandIsShownAsItRuns) {
  Shop shop;
  shop.python.kind = ToolKind::command;
  shop.python.run = argv({"/bin/report", "two words", "{month}"});
  EXPECT_THAT(explained(shop), HasSubstr("/bin/report 'two words' {month}"));
}

TEST(Explain, SaysWhatCallersMayShow) {
  Shop shop;
  shop.python.files.client = ClientFiles::read;
  EXPECT_THAT(explained(shop),
              AllOf(HasSubstr("may show it files and directories of their own, read-only"),
                    HasSubstr("read what its caller shows it"),
                    Not(HasSubstr("No file or directory of this machine is given"))));
  shop.python.files.client = ClientFiles::write;
  EXPECT_THAT(explained(shop), AllOf(HasSubstr("of their own, also writable"),
                                     HasSubstr("change or delete what its caller shows it")));
}

TEST(Explain, FilesAreNamedAndWritingIsNotPlayedDown) {
  Shop shop;
  EXPECT_THAT(explained(shop), HasSubstr("No file or directory of this machine is given"));
  shop.python.files.read = {file_rule("/srv/public", "/data")};
  shop.python.files.write = {file_rule("/srv/out")};
  const std::string direct = explained(shop);
  EXPECT_THAT(
      direct,
      AllOf(HasSubstr("read: /srv/public, seen as /data"), HasSubstr("read and write: /srv/out\n"),
            HasSubstr("no limit bounds their size"), HasSubstr("read everything in /srv/public"),
            HasSubstr("change or delete everything in /srv/out and fill")));
  shop.python.files.write_mode = WriteMode::copy;
  EXPECT_THAT(explained(shop),
              AllOf(HasSubstr("copied back at the end"), Not(HasSubstr("fill the disk"))));
}

TEST(Explain, TheNetworkIsNothingOrNamedAndTcpIsCalledOpaque) {
  Shop shop;
  EXPECT_THAT(explained(shop), AllOf(HasSubstr("Nothing. It has a loopback of its own"),
                                     HasSubstr("cannot send anything anywhere")));
  shop.python.network.allow.push_back({.host = host_pattern("api.example.com")});
  shop.python.network.allow.push_back(
      {.host = host_pattern("*.db.example.com"), .port = 5432, .scheme = "tcp"});
  EXPECT_THAT(explained(shop),
              AllOf(HasSubstr("api.example.com on port 443 by https\n"),
                    HasSubstr("*.db.example.com on port 5432 by tcp"), HasSubstr("opaque"),
                    HasSubstr("send all that it can read to api.example.com or *.db.example.com"),
                    Not(HasSubstr("cannot send anything"))));
}

TEST(Explain, ASharedNetworkIsSaidAloud) {
  Shop shop;
  EXPECT_THAT(explained(shop), Not(HasSubstr("SHARES")));
  shop.python.share_network = true;
  EXPECT_THAT(explained(shop),
              AllOf(HasSubstr("EVERYTHING. IT SHARES THE NETWORK OF THIS MACHINE"),
                    HasSubstr("send all that it can read to ANY HOST THAT THIS MACHINE REACHES"),
                    Not(HasSubstr("cannot send anything")), Not(HasSubstr("no other interface"))));
  EXPECT_THAT(
      explain(shop.rules, "python")->gaps,
      ElementsAre(testing::Field(&ExplainedGap::rule, "tools.python.dangerously_share_network")));
}

TEST(Explain, TheHostsOfACredentialCountAsReachable) {
  Shop shop;
  Credential& credential = shop.rules.credentials["pay"];
  credential.name = "pay";
  credential.to = {{.host = host_pattern("pay.example.com")}};
  shop.python.credentials = {"pay"};
  EXPECT_THAT(explained(shop), AllOf(HasSubstr("pay.example.com, with the credential pay"),
                                     HasSubstr("act with the credential pay"),
                                     Not(HasSubstr("cannot send anything"))));
}

TEST(Explain, AFunctionIsNotSaidToBeConfined) {
  Shop shop;
  shop.python.kind = ToolKind::function;
  EXPECT_THAT(explained(shop), AllOf(HasSubstr("trusted code"), HasSubstr("runs in no cell"),
                                     Not(HasSubstr("Nothing. It has a loopback"))));
}

TEST(Explain, ApprovalSaysWhenByWhomAndHowMany) {
  Shop shop;
  EXPECT_THAT(explained(shop), HasSubstr("a call that passes runs at once"));
  shop.python.irreversible = true;
  EXPECT_THAT(explained(shop), HasSubstr("every call waits for an approval"));
  ApprovalRule rule;
  rule.when_text = {{"amount", json::object{{"minimum", 100}}}};
  rule.when = *Schema::compile(json::object{});
  rule.by = {"lead"};
  rule.count = 2;
  shop.python.approval = rule;
  EXPECT_THAT(explained(shop),
              AllOf(HasSubstr(R"(match {"amount":{"minimum":100}} wait)"),
                    HasSubstr("2 different people of the role lead, never the caller"),
                    HasSubstr("15min"), Not(HasSubstr("every call waits"))));
}

TEST(Explain, TheWorstHourIsTheTightestRateTimesTheBudgetOfACall) {
  Shop shop;
  shop.python.rates = {per_minute(10)};
  shop.python.limits.cpu = 20s;
  EXPECT_THAT(explained(shop), HasSubstr("In an hour, ann can make 600 calls (tools.python.rate), "
                                         "and use at most 200min of CPU time."));
  shop.ann.rates = {{.count = 100, .window = 24h}};
  EXPECT_THAT(explained(shop), HasSubstr("100 calls (callers.ann.rate)"));
  Tenant& tenant = add_tenant(shop.rules, "acme");
  tenant.budget.cpu = 10min;
  tenant.budget.calls = 50;
  EXPECT_THAT(explained(shop), AllOf(HasSubstr("50 calls (tenants.acme.budget)"),
                                     HasSubstr("at most 10min of CPU time (tenants.acme.budget)")));
}

TEST(Explain, TheWorstHourOfTheGreatestNumbersDoesNotWrapAround) {
  Shop shop;
  shop.python.rates = {{.count = 4'294'967'295U, .window = 1s}};
  shop.python.limits.cpu = kGreatestDuration;
  EXPECT_THAT(explained(shop), HasSubstr("use at most " + to_text(kGreatestDuration)));
}

TEST(Explain, ListsWhatThisVersionRefuses) {
  Shop shop;
  EXPECT_THAT(explain(shop.rules, "python")->gaps, IsEmpty());
  shop.python.share_network = true;
  shop.python.network.allow.push_back({.host = host_pattern("a.example"), .inspect = true});
  ApprovalRule rule;
  rule.when = *Schema::compile(json::object{});
  shop.python.approval = rule;
  std::vector<std::string> found;
  for (const ExplainedGap& gap : explain(shop.rules, "python")->gaps)
    found.push_back(gap.rule + (gap.every_call ? "" : " (some)"));
  EXPECT_THAT(
      found, ElementsAre("tools.python.approval (some)", "tools.python.dangerously_share_network"));
}

TEST(Explain, TextOfTheFileCannotMoveTheCursor) {
  Shop shop;
  shop.python.files.read = {file_rule("/srv/\x1b[2Jx")};
  shop.python.environment["A"] = "\x1b]0;x\x07";
  EXPECT_THAT(explained(shop), AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\x07"))));
}

TEST(Explain, TheJsonHasTheSameFactsAndTheEnvelope) {
  const Shop shop;
  const json::object object = to_json(*explain(shop.rules, "python", "ann"));
  const std::string text = json::serialize(object);
  EXPECT_THAT(text, AllOf(HasSubstr("A Python program"), HasSubstr("At worst")));
  const json::object& caller = object.at("callers").at(0).as_object();
  EXPECT_EQ(caller.at("allowed"), true);
  EXPECT_EQ(caller.at("envelope").at("limits").at("timeout"), "10s");
  EXPECT_EQ(caller.at("envelope_hash").as_string().size(), 64U);
}

}  // namespace
}  // namespace sallyport
