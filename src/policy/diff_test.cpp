#include "policy/diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "policy/rules_fixture.h"

namespace sallyport {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Rules shop() {
  Rules rules;
  add_role(rules, "editor", {"execute:code"});
  add_role(rules, "viewer", {"read:data"});
  add_caller(rules, "ann", "editor");
  add_caller(rules, "bob", "viewer");
  add_caller(rules, "cleo", "viewer");
  Tool& tool = add_tool(rules, "python", {"execute:code"});
  tool.kind = ToolKind::builtin;
  tool.builtin = Builtin::run_python;
  add_tool(rules, "list", {"read:data"});
  return rules;
}

std::vector<std::string> lines(const Rules& before, const Rules& after) {
  std::vector<std::string> texts;
  for (const PolicyChange& change : diff(before, after))
    texts.push_back(to_text(change));
  return texts;
}

// What a change of python, made by `change`, is said to be.
std::vector<std::string> python_lines(
    const std::function<void(Tool&)>& change,
    const std::function<void(Tool&)>& first = [](Tool&) {}) {
  Rules before = shop();
  first(before.tools.at("python"));
  Rules after = before;
  change(after.tools.at("python"));
  return lines(before, after);
}

TEST(PolicyDiff, WhatChangesNothingForAnyoneIsNoDifference) {
  Rules before = shop(), after = shop();
  EXPECT_THAT(lines(before, after), IsEmpty());
  after.tools.at("python").place = {.line = 9, .column = 1};
  after.tools.at("python").description = "another";
  add_role(after, "nobody_has_it", {"admin"});
  add_tool(after, "nobody_may", {"fly"});
  EXPECT_THAT(lines(before, after), IsEmpty());
  // The same limit, from another rule.
  after.tools.at("python").limits.timeout = Limits{}.timeout;
  // The same rate, of the role in place of the callers.
  before.callers.at("ann").rates = {per_minute(3)};
  after.roles.at("editor").rates = {per_minute(3)};
  EXPECT_THAT(lines(before, after), IsEmpty());
}

TEST(PolicyDiff, SaysWhoGainsAndWhoLosesATool) {
  Rules after = shop();
  after.tools.at("python").needs = {"read:data"};
  EXPECT_THAT(lines(shop(), after),
              ElementsAre("- python: ann: may no longer call it",
                          "+ python: role viewer (2 callers): may now call it"));
  EXPECT_TRUE(may_allow_more(diff(shop(), after)));
}

TEST(PolicyDiff, ANewToolANewCallerAndANewPermissionAreAllGains) {
  Rules tool = shop(), caller = shop(), permission = shop();
  add_tool(tool, "fresh", {"execute:code"});
  EXPECT_THAT(lines(shop(), tool), ElementsAre("+ fresh: ann: may now call it"));
  add_caller(caller, "dan", "editor");
  EXPECT_THAT(lines(shop(), caller), ElementsAre("+ python: dan: may now call it"));
  permission.roles.at("viewer").permissions.emplace_back("admin");
  EXPECT_THAT(lines(shop(), permission),
              ElementsAre("+ python: role viewer (2 callers): may now call it"));
  EXPECT_THAT(lines(permission, shop()),
              ElementsAre("- python: role viewer (2 callers): may no longer call it"));
  EXPECT_FALSE(may_allow_more(diff(permission, shop())));
}

TEST(PolicyDiff, LimitsAreOrderedAndNameOnlyThoseWhomTheyConcern) {
  EXPECT_THAT(python_lines([](Tool& tool) { tool.limits.timeout = 1min; }),
              ElementsAre("+ python: timeout 10s → 1min (wider)"));
  EXPECT_THAT(python_lines([](Tool& tool) { tool.limits.memory = 1_MiB; }),
              ElementsAre("- python: memory 256MiB → 1MiB (narrower)"));
  EXPECT_THAT(python_lines([](Tool& tool) { tool.limits.io = Rate{1_MB}; }),
              ElementsAre("- python: io unlimited → 1MB/s (narrower)"));
  Rules after = shop();
  after.callers.at("bob").limits.timeout = 1s;
  EXPECT_THAT(lines(shop(), after), ElementsAre("- list: bob: timeout 10s → 1s (narrower)"));
}

TEST(PolicyDiff, AHundredCallersWithTheSameChangeAreOneLine) {
  Rules before = shop();
  for (int i = 0; i < 100; ++i) {
    // Not alike, but the change is the same.
    add_caller(before, "v" + std::to_string(i), "viewer").concurrency = i % 7 + 1;
  }
  Rules after = before;
  after.roles.at("viewer").permissions.emplace_back("execute:code");
  EXPECT_THAT(lines(before, after),
              ElementsAre("+ python: role viewer (102 callers): may now call it"));
}

TEST(PolicyDiff, RatesAreOrderedByWhatTheyLetThrough) {
  const auto with_rate = [](CallRate rate) { return [rate](Tool& tool) { tool.rates = {rate}; }; };
  EXPECT_THAT(python_lines(with_rate(per_minute(20))),
              ElementsAre("+ python: rate of the tool 10/min → 20/min (wider)"));
  EXPECT_THAT(python_lines(with_rate(per_minute(5))),
              ElementsAre("- python: rate of the tool 10/min → 5/min (narrower)"));
  EXPECT_THAT(python_lines(with_rate({.count = 10, .window = 1h})),
              ElementsAre("- python: rate of the tool 10/min → 10/h (narrower)"));
  // More in a burst, fewer in all.
  EXPECT_THAT(python_lines(with_rate({.count = 100, .window = 1h})),
              ElementsAre("~ python: rate of the tool 10/min → 100/h (changed)"));
}

TEST(PolicyDiff, EveryControlOfAToolThatGoesIsWiderAndThatComesIsNarrower) {
  // Each grants something that a plain tool has not.
  const std::pair<std::function<void(Tool&)>, std::string> grants[] = {
      {[](Tool& tool) { tool.files.read.push_back(file_rule("/srv")); }, "can now read /srv"},
      {[](Tool& tool) { tool.files.write.push_back(file_rule("/srv")); }, "can now write /srv"},
      {[](Tool& tool) { tool.files.client = ClientFiles::read; },
       "its callers may show it files of their own, read-only"},
      {[](Tool& tool) { tool.files.client = ClientFiles::write; },
       "its callers may show it files of their own, also writable"},
      {[](Tool& tool) { tool.network.allow.push_back({.host = host_pattern("a.example")}); },
       "can now reach a.example"},
      {[](Tool& tool) { tool.share_network = true; }, "SHARES NOW THE NETWORK OF THIS MACHINE"},
      {[](Tool& tool) { tool.commands.allow = {{"git", "log"}}; }, "can now run `git log`"},
      {[](Tool& tool) { tool.args.push_back(argument("x", "{}")); },
       "argument x: can be given now"},
      {[](Tool& tool) { tool.tables.tables["orders"] = {}; },
       "table orders: none → all columns (wider)"},
      {[](Tool& tool) { tool.credentials = {"pay"}; }, "can now use the credential pay"},
      {[](Tool& tool) { tool.collect = {"*"}; }, "gives back files that match *"},
  };
  for (const auto& [grant, sentence] : grants) {
    const auto gained = python_lines(grant);
    ASSERT_FALSE(gained.empty()) << sentence;
    EXPECT_THAT(gained, testing::Each(testing::StartsWith("+ "))) << sentence;
    EXPECT_THAT(gained.back(), HasSubstr(sentence));
    const auto lost = python_lines([](Tool& tool) { tool = shop().tools.at("python"); }, grant);
    EXPECT_EQ(lost.size(), gained.size()) << sentence;
    EXPECT_THAT(lost, testing::Each(testing::StartsWith("- "))) << sentence;
  }
  // Each takes something away.
  const std::pair<std::function<void(Tool&)>, std::string> controls[] = {
      {[](Tool& tool) { tool.irreversible = true; }, "irreversible"},
      {[](Tool& tool) { tool.approval.emplace(); }, "waits for an approval now"},
      {[](Tool& tool) { tool.screen["*"] = ScreenAction::block; }, "none → block"},
      {[](Tool& tool) { tool.output.redact = {"secrets"}; }, "redacts now secrets"},
      {[](Tool& tool) { tool.output.patterns = {"x+"}; }, "redacts now what matches x+"},
      {[](Tool& tool) { tool.output.schema = *Schema::compile(json::object{}); }, "schema"},
      {[](Tool& tool) { tool.require = {"cgroup"}; }, "requires now cgroup"},
      {[](Tool& tool) { tool.commands.refuse_flags["git"] = {"-c"}; }, "refuses now `git -c`"},
      {[](Tool& tool) { tool.network.deny = {host_pattern("a.example")}; }, "denies now"},
      {[](Tool& tool) { tool.network.requests = 3; }, "requests unlimited → 3"},
      {[](Tool& tool) { tool.network.time = std::chrono::seconds(9); },
       "time of a connection unlimited → 9s"},
      {[](Tool& tool) { tool.rows = 3; }, "rows unlimited → 3"},
      {[](Tool& tool) { tool.concurrency = 3; }, "calls at once of the tool unlimited → 3"},
  };
  for (const auto& [control, sentence] : controls) {
    const auto came = python_lines(control);
    ASSERT_EQ(came.size(), 1U) << sentence;
    EXPECT_THAT(came[0], testing::AllOf(testing::StartsWith("- "), HasSubstr(sentence)));
    const auto went = python_lines([](Tool& tool) { tool = shop().tools.at("python"); }, control);
    ASSERT_EQ(went.size(), 1U) << sentence;
    EXPECT_THAT(went[0], testing::StartsWith("+ "));
  }
}

TEST(PolicyDiff, WhatCannotBeOrderedCountsAsWider) {
  const std::function<void(Tool&)> changes[] = {
      [](Tool& tool) { tool.builtin = Builtin::run_shell; },
      [](Tool& tool) { tool.tier = Tier::vm; },
      [](Tool& tool) { tool.syscalls = "build"; },
      [](Tool& tool) { tool.environment["PATH"] = "/x"; },
      [](Tool& tool) { tool.database = "sqlite:/x"; },
      [](Tool& tool) { tool.input_json = true; },
      [](Tool& tool) { tool.result_json = true; },
      [](Tool& tool) { tool.preload = {"numpy"}; },
      [](Tool& tool) { tool.warm = true; },
      [](Tool& tool) { tool.output.injection = "mark"; },
      [](Tool& tool) { tool.prefer = {"cgroup"}; },
  };
  for (const auto& change : changes) {
    Rules after = shop();
    change(after.tools.at("python"));
    const auto found = diff(shop(), after);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].direction, Direction::changed) << found[0].what;
    EXPECT_TRUE(may_allow_more(found));
  }
}

TEST(PolicyDiff, APathOrHostWithinWhatWasAllowedIsNotNew) {
  const auto read = [](std::string host, std::string inside = "") {
    return [=](Tool& tool) { tool.files.read = {file_rule(host, inside)}; };
  };
  EXPECT_THAT(python_lines(read("/srv/shop/public"), read("/srv/shop")),
              ElementsAre("- python: can no longer read /srv/shop"));
  EXPECT_THAT(python_lines(read("/srv/shopping"), read("/srv/shop")),
              ElementsAre("+ python: can now read /srv/shopping",
                          "- python: can no longer read /srv/shop"));
  EXPECT_THAT(python_lines(read("/srv/shop", "/other"), read("/srv/shop", "/data")).size(), 2U);

  const auto reach = [](const char* host) {
    return [=](Tool& tool) { tool.network.allow = {{.host = host_pattern(host)}}; };
  };
  EXPECT_EQ(python_lines(reach("a.example.com"), reach("*.example.com")).size(), 1U);
  EXPECT_EQ(python_lines(reach("example.com"), reach("*.example.com")).size(), 2U);
  EXPECT_EQ(python_lines(reach("a.notexample.com"), reach("*.example.com")).size(), 2U);
  // From reading to writing: what may be written may be read.
  EXPECT_THAT(python_lines(
                  [](Tool& tool) {
                    tool.files.read.clear();
                    tool.files.write = {file_rule("/srv")};
                  },
                  read("/srv")),
              ElementsAre("+ python: can now write /srv"));
}

TEST(PolicyDiff, ACommandWithinAnAllowedOneIsNotNew) {
  const auto run = [](std::vector<std::string> words) {
    return [=](Tool& tool) { tool.commands.allow = {words}; };
  };
  EXPECT_THAT(python_lines(run({"git", "log"}), run({"git"})),
              ElementsAre("- python: can no longer run `git`"));
  EXPECT_THAT(python_lines(run({"git"}), run({"git", "log"})),
              ElementsAre("+ python: can now run `git`"));
}

std::vector<std::string> argument_lines(std::string_view before, std::string_view after) {
  const auto take = [](std::string_view schema) {
    return [=](Tool& tool) { tool.args = {argument("n", schema)}; };
  };
  return python_lines(take(after), take(before));
}

TEST(PolicyDiff, BoundsOfArgumentsAreOrdered) {
  EXPECT_THAT(argument_lines(R"({"maximum": 5})", R"({"maximum": 7})"),
              ElementsAre("+ python: argument n: maximum 5 → 7 (wider)"));
  EXPECT_THAT(argument_lines(R"({"minimum": 5})", R"({"minimum": 7})"),
              ElementsAre("- python: argument n: minimum 5 → 7 (narrower)"));
  EXPECT_THAT(argument_lines(R"({"maxLength": 5})", "{}"),
              ElementsAre("+ python: argument n: maxLength 5 → none (wider)"));
  EXPECT_THAT(argument_lines(R"({"enum": [1, 2]})", R"({"enum": [1, 2, 3]})"),
              ElementsAre("+ python: argument n: enum [1,2] → [1,2,3] (wider)"));
  EXPECT_THAT(argument_lines(R"({"enum": [1, 2]})", R"({"enum": [2, 3]})"),
              ElementsAre("~ python: argument n: enum [1,2] → [2,3] (changed)"));
  EXPECT_THAT(argument_lines(R"({"pattern": "a"})", R"({"pattern": "b"})").at(0),
              testing::StartsWith("~"));
  EXPECT_THAT(argument_lines(R"({"pattern": "a"})", "{}").at(0), testing::StartsWith("+"));
  EXPECT_THAT(argument_lines(R"({"not": {}})", "{}").at(0), testing::StartsWith("~"));
  EXPECT_THAT(argument_lines(R"({"description": "a"})", R"({"description": "b"})"), IsEmpty());
}

TEST(PolicyDiff, SanitisersOfArgumentsAreOrdered) {
  const auto path = [](auto change) {
    return [=](Tool& tool) {
      Argument some = argument("p", "{}");
      some.type = ArgumentType::path;
      some.below = "/srv/shop";
      change(some);
      tool.args = {some};
    };
  };
  const auto plain = path([](Argument&) {});
  const auto mark = [&](auto change) { return python_lines(path(change), plain).at(0)[0]; };
  EXPECT_EQ(mark([](Argument& some) { some.below = "/srv"; }), '+');
  EXPECT_EQ(mark([](Argument& some) { some.below = "/srv/shop/public"; }), '-');
  EXPECT_EQ(mark([](Argument& some) { some.below = "/srv/shopping"; }), '~');
  EXPECT_EQ(mark([](Argument& some) { some.exists = false; }), '+');
  EXPECT_EQ(mark([](Argument& some) { some.dash = true; }), '+');
  EXPECT_EQ(mark([](Argument& some) { some.multiline = true; }), '+');
  EXPECT_EQ(mark([](Argument& some) { some.optional = true; }), '+');
  EXPECT_EQ(mark([](Argument& some) { some.hosts = {host_pattern("a.example")}; }), '-');
  EXPECT_EQ(mark([](Argument& some) { some.type = ArgumentType::string; }), '~');
}

TEST(PolicyDiff, ApprovalsAreOrdered) {
  const auto rule = [](auto change) {
    return [=](Tool& tool) {
      ApprovalRule some;
      some.by = {"lead"};
      some.count = 2;
      change(some);
      tool.approval = some;
    };
  };
  const auto plain = rule([](ApprovalRule&) {});
  const auto mark = [&](auto change) { return python_lines(rule(change), plain).at(0)[0]; };
  EXPECT_EQ(mark([](ApprovalRule& some) { some.count = 1; }), '+');
  EXPECT_EQ(mark([](ApprovalRule& some) { some.count = 3; }), '-');
  EXPECT_EQ(mark([](ApprovalRule& some) { some.by = {"lead", "editor"}; }), '+');
  EXPECT_EQ(mark([](ApprovalRule& some) { some.expires = 1h; }), '+');
  EXPECT_EQ(mark([](ApprovalRule& some) { some.when = *Schema::compile(json::object{}); }), '+');
}

TEST(PolicyDiff, LockOutAndCeilingAreOrderedToo) {
  Rules locked = shop();
  locked.lockout = Lockout{.after = 10, .within = 5min, .lasts = 15min};
  EXPECT_THAT(lines(locked, shop()).at(0), testing::StartsWith("+ no lock-out any more"));
  EXPECT_THAT(lines(shop(), locked).at(0), testing::StartsWith("- lock-out after 10 denials"));
  Rules looser = locked;
  looser.lockout->after = 20;
  EXPECT_THAT(lines(locked, looser).at(0), testing::StartsWith("+ "));
  Rules denied = shop();
  denied.ceiling.deny_files.push_back({"/etc/shadow", *Glob::parse("etc/shadow")});
  EXPECT_THAT(lines(denied, shop()), ElementsAre("+ files are no longer denied: /etc/shadow"));
  EXPECT_THAT(lines(shop(), denied), ElementsAre("- files are denied now: /etc/shadow"));
}

TEST(PolicyDiff, ACredentialThatGoesElsewhereIsSeen) {
  Rules before = shop();
  before.tools.at("python").credentials = {"pay"};
  before.credentials["pay"].to = {{.host = host_pattern("pay.example.com")}};
  Rules after = before;
  after.credentials["pay"].to.push_back({.host = host_pattern("evil.example.com")});
  EXPECT_THAT(lines(before, after),
              ElementsAre("+ python: credential pay: goes now to evil.example.com"));
}

TEST(PolicyDiff, AMoveToAnotherTenantIsSeen) {
  Rules after = shop();
  after.callers.at("ann").tenant = "beta";
  EXPECT_THAT(lines(shop(), after), ElementsAre("~ python: tenant default → beta (changed)"));
}

TEST(PolicyDiff, TextOfTheFileCannotMoveTheCursor) {
  EXPECT_THAT(python_lines([](Tool& tool) { tool.files.read = {file_rule("/\x1b[2J")}; }).at(0),
              testing::Not(HasSubstr("\x1b")));
}

// The gate of a CI: no policy that allows more may pass for one that does not.
TEST(PolicyDiffProperty, ADiffAndItsReverseAreMirrorImages) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    RandomRules random(seed);
    const Rules before = random.rules(), after = random.rules();
    const auto there = diff(before, after), back = diff(after, before);
    const auto count = [](const std::vector<PolicyChange>& changes, Direction direction) {
      return std::ranges::count(changes, direction, &PolicyChange::direction);
    };
    ASSERT_EQ(there.empty(), back.empty());
    ASSERT_EQ(count(there, Direction::wider) > 0, count(back, Direction::narrower) > 0)
        << "seed " << seed;
    ASSERT_THAT(diff(before, before), IsEmpty());
  }
}

}  // namespace
}  // namespace sallyport
