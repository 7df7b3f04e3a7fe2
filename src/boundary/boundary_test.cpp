#include "sallyport/boundary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>

#include "boundary/boundary_fixture.h"

namespace sallyport {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kShop = R"(
version: 1
roles:
  viewer: [read:data]
  editor: [read:data, write:data]
  admin: [admin]
callers:
  vera: { role: viewer }
  edgar: { role: editor }
  ada: { role: admin }
  nobody: {}
defaults: { rate: 1000/min }
)";

Boundary shop() {
  Boundary boundary = open(kShop);
  const json::object id = object(R"({"id": {"type": "integer", "minimum": 1}})");
  add(boundary, echo("list_items", {"read:data"}));
  add(boundary, echo("get_item", {"read:data"}, id));
  add(boundary, echo("update_item", {"write:data"}, id));
  add(boundary, echo("delete_item", {"delete:data"}, id));
  return boundary;
}

TEST(Boundary, LetsEachRoleDoWhatItMayAndNothingElse) {
  Boundary boundary = shop();
  struct Row {
    std::string caller;
    bool list, get, update, remove;
  };
  const Row rows[] = {{"vera", true, true, false, false},
                      {"edgar", true, true, true, false},
                      {"ada", true, true, true, true},
                      {"nobody", false, false, false, false}};
  for (const Row& row : rows) {
    const std::pair<const char*, bool> tools[] = {{"list_items", row.list},
                                                  {"get_item", row.get},
                                                  {"update_item", row.update},
                                                  {"delete_item", row.remove}};
    for (const auto& [tool, allowed] : tools) {
      const bool takes_id = std::string_view(tool) != "list_items";
      const CallResult result =
          boundary.call(request(row.caller, tool, takes_id ? R"({"id": 1})" : "{}"));
      EXPECT_EQ(result.status == Status::success, allowed) << row.caller << " " << tool;
      if (!allowed) EXPECT_EQ(result.reason, Reason::permission) << row.caller << " " << tool;
    }
  }
}

TEST(Boundary, SaysWhatACallerLacks) {
  Boundary boundary = shop();
  const CallResult result = boundary.call(request("vera", "delete_item", R"({"id": 1})"));
  EXPECT_EQ(result.status, Status::blocked);
  EXPECT_EQ(result.rule, "tools.delete_item.needs");
  EXPECT_EQ(result.caller, "vera");
  EXPECT_THAT(result.missing, ElementsAre("delete:data"));
  EXPECT_THAT(result.required, ElementsAre("delete:data"));
  EXPECT_THAT(result.hint, HasSubstr("viewer"));
  const json::object printed = to_json(result);
  EXPECT_EQ(printed.at("reason"), "permission");
  EXPECT_EQ(printed.at("status"), "blocked");
  EXPECT_EQ(printed.at("missing"), json::array({"delete:data"}));
  EXPECT_EQ(printed.at("policy").as_string().size(), 64U);
  EXPECT_EQ(printed.at("call_id").as_string().size(), 32U);
}

TEST(Boundary, LimitsTheSixthCallInAMinute) {
  Boundary limited = open(R"(
version: 1
roles: { viewer: [read:data] }
callers: { vera: { role: viewer } }
defaults: { rate: 5/min }
)");
  add(limited, echo("list_items", {"read:data"}));
  for (std::uint64_t i = 0; i < 5; ++i) {
    const CallResult result = limited.call(request("vera", "list_items"));
    EXPECT_EQ(result.status, Status::success);
    EXPECT_EQ(result.rate_remaining, 4 - i);
  }
  const CallResult sixth = limited.call(request("vera", "list_items"));
  EXPECT_EQ(sixth.status, Status::blocked);
  EXPECT_EQ(sixth.reason, Reason::rate_limit);
  EXPECT_EQ(sixth.rule, "defaults.rate");
  EXPECT_EQ(sixth.rate_remaining, 0U);
  ASSERT_TRUE(sixth.retry_after_ms);
  EXPECT_GT(*sixth.retry_after_ms, 0);
  EXPECT_LE(*sixth.retry_after_ms, 60'000);
}

TEST(Boundary, DoesNotCountCallsThatItRefuses) {
  Boundary boundary = open(R"(
version: 1
roles: { viewer: [read:data] }
callers: { vera: { role: viewer } }
defaults: { rate: 2/min }
)");
  add(boundary, echo("get", {"read:data"}, object(R"({"id": {"type": "integer"}})")));
  add(boundary, echo("erase", {"delete:data"}));
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(boundary.call(request("vera", "get", R"({"id": "x"})")).reason, Reason::argument);
    EXPECT_EQ(boundary.call(request("vera", "erase")).reason, Reason::permission);
  }
  EXPECT_EQ(boundary.call(request("vera", "get", R"({"id": 1})")).status, Status::success);
  EXPECT_EQ(boundary.call(request("vera", "get", R"({"id": 1})")).status, Status::success);
  EXPECT_EQ(boundary.call(request("vera", "get", R"({"id": 1})")).reason, Reason::rate_limit);
}

TEST(Boundary, LocksOutAfterRepeatedDenials) {
  Boundary boundary = open(R"(
version: 1
roles: { viewer: [read:data] }
callers: { vera: { role: viewer }, victor: { role: viewer } }
lockout: { after: 3 denials, within: 5min, for: 15min, by: [caller, address] }
)");
  add(boundary, echo("get", {"read:data"}));
  CallRequest bad = request("vera", "no_such_tool");
  bad.address = "203.0.113.7";
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(boundary.call(bad).reason, Reason::unknown_tool);
  const CallResult locked = boundary.call(request("vera", "get"));
  EXPECT_EQ(locked.reason, Reason::locked_out);
  EXPECT_TRUE(locked.retry_after_ms);
  EXPECT_EQ(boundary.call(request("victor", "get")).status, Status::success);
  CallRequest same_address = request("victor", "get");
  same_address.address = "203.0.113.7";
  EXPECT_EQ(boundary.call(same_address).reason, Reason::locked_out);
}

TEST(Boundary, RefusesMoreCallsInFlightThanAllowed) {
  Boundary boundary = open(R"(
version: 1
roles: { viewer: [read:data] }
tenants: { acme: { concurrency: 1 } }
callers: { vera: { role: viewer, tenant: acme } }
)");
  std::latch entered(1);
  std::latch leave(1);
  add(boundary, {.name = "wait",
                 .needs = {"read:data"},
                 .body = [&](const json::object&) -> Result<json::value> {
                   entered.count_down();
                   leave.wait();
                   return json::value(1);
                 }});
  std::thread first(
      [&] { EXPECT_EQ(boundary.call(request("vera", "wait")).status, Status::success); });
  entered.wait();
  const CallResult second = boundary.call(request("vera", "wait"));
  leave.count_down();
  first.join();
  EXPECT_EQ(second.reason, Reason::concurrency);
  EXPECT_EQ(second.rule, "tenants.acme.concurrency");
}

TEST(Boundary, LetsCallersShowFilesOnlyWhereAToolSaysSo) {
  const Boundary boundary = open(R"(
version: 1
roles: { worker: [execute:code] }
callers: { will: { role: worker } }
tools:
  plain:  { use: run_command, needs: [execute:code], commands: [ls] }
  reads:  { use: run_command, needs: [execute:code], commands: [ls], files: { client: read } }
  writes: { use: run_command, needs: [execute:code], commands: [ls], files: { client: write } }
)");
  const auto decide = [&](const std::string& tool, bool write) {
    CallRequest asked = request("will", tool, R"({"command": "ls"})");
    asked.client = {.ticket = std::string(32, 'a'),
                    .uid = 1000,
                    .files = {{.path = "/home/will", .inside = "/p", .write = write}}};
    return boundary.decide(asked);
  };
  for (const auto& [tool, write] : {std::pair("plain", false), std::pair("reads", true)}) {
    const CallResult refused = decide(tool, write);
    EXPECT_EQ(refused.reason, Reason::permission) << tool;
    EXPECT_EQ(refused.rule, "tools." + std::string(tool) + ".files.client");
  }
  // Nobody else can be shown any.
  for (const auto& [tool, write] : {std::pair("reads", false), std::pair("writes", true)})
    EXPECT_EQ(decide(tool, write).reason, Reason::unavailable) << tool;
  EXPECT_EQ(boundary.decide(request("will", "reads", R"({"command": "ls"})")).reason, Reason::none);
}

TEST(Boundary, GivesRolesDifferentLimitsOnTheSameTool) {
  Boundary boundary = open(R"(
version: 1
roles:
  support: { permissions: [read:data], rate: 2/min, limits: { max_result: 10B } }
  admin:   { permissions: [admin], rate: 4/min, limits: { max_result: 1kB } }
callers: { helpdesk: { role: support }, root: { role: admin } }
)");
  add(boundary, {.name = "report",
                 .needs = {"read:data"},
                 .body = [](const json::object&) -> Result<json::value> {
                   return json::value(std::string(100, 'x'));
                 }});
  const CallResult small = boundary.call(request("helpdesk", "report"));
  EXPECT_EQ(small.status, Status::error);
  EXPECT_EQ(small.reason, Reason::result_too_large);
  EXPECT_EQ(small.size_bytes, 102U);
  EXPECT_EQ(small.limit_bytes, 10U);
  EXPECT_FALSE(small.data);
  EXPECT_EQ(boundary.call(request("root", "report")).status, Status::success);

  EXPECT_EQ(boundary.call(request("helpdesk", "report")).reason, Reason::result_too_large);
  EXPECT_EQ(boundary.call(request("helpdesk", "report")).rule, "roles.support.rate");
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(boundary.call(request("root", "report")).status, Status::success);
  EXPECT_EQ(boundary.call(request("root", "report")).rule, "roles.admin.rate");
}

TEST(Boundary, AnswersAtTheDeadlineOfAThread) {
  Boundary boundary = open(R"(
version: 1
roles: { viewer: [read:data] }
callers: { vera: { role: viewer } }
tools: { slow: { tier: thread, needs: [read:data], limits: { timeout: 20ms } } }
)");
  auto leave = std::make_shared<std::latch>(1);
  add(boundary, {.name = "slow",
                 .needs = {},
                 .tier = FunctionTier::thread,
                 .body = [leave](const json::object&) -> Result<json::value> {
                   leave->wait();
                   return json::value(1);
                 }});
  const CallResult result = boundary.call(request("vera", "slow"));
  EXPECT_EQ(result.status, Status::killed);
  EXPECT_EQ(result.reason, Reason::timeout);
  EXPECT_FALSE(result.usage.final);
  EXPECT_EQ(result.tier, "thread");
  leave->count_down();
}

TEST(Boundary, TurnsExceptionsAndErrorsOfFunctionsIntoResults) {
  Boundary boundary = shop();
  add(boundary,
      {.name = "throws", .needs = {}, .body = [](const json::object&) -> Result<json::value> {
         throw std::runtime_error("out of lamps");
       }});
  add(boundary,
      {.name = "fails", .needs = {}, .body = [](const json::object&) -> Result<json::value> {
         return fail(Reason::exit, "no such lamp", "ask for another");
       }});
  const CallResult thrown = boundary.call(request("vera", "throws"));
  EXPECT_EQ(thrown.status, Status::error);
  EXPECT_THAT(thrown.message, HasSubstr("out of lamps"));
  const CallResult failed = boundary.call(request("vera", "fails"));
  EXPECT_EQ(failed.status, Status::error);
  EXPECT_EQ(failed.message, "no such lamp");
  EXPECT_EQ(failed.hint, "ask for another");
}

TEST(Boundary, DecidesWithoutRunningOrCounting) {
  Boundary boundary = open(R"(
version: 1
roles: { viewer: [read:data] }
callers: { vera: { role: viewer } }
defaults: { rate: 1/min }
)");
  std::atomic<int> runs = 0;
  add(boundary,
      {.name = "count",
       .needs = {"read:data"},
       .body = [&](const json::object&) -> Result<json::value> { return json::value(++runs); }});
  CallRequest dry = request("vera", "count");
  dry.dry_run = true;
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(boundary.call(dry).status, Status::success);
  EXPECT_EQ(runs, 0);
  EXPECT_EQ(boundary.call(request("vera", "count")).status, Status::success);
  EXPECT_EQ(runs, 1);
}

TEST(Boundary, WaitsForApprovalWhereThePolicyAsksForIt) {
  constexpr std::string_view kRefunds = R"(
version: 1
roles: { clerk: [write:data], lead: [write:data] }
callers: { carl: { role: clerk }, lea: { role: lead } }
tools:
  refund:
    tier: inline
    needs: [write:data]
    args: { amount: { type: number, exclusiveMinimum: 0, optional: true } }
    approval: { when: { amount: { minimum: 100 } }, by: [lead] }
)";
  Boundary boundary = open(kRefunds);
  std::atomic<int> runs = 0;
  add(boundary,
      {.name = "refund", .needs = {}, .body = [&](const json::object&) -> Result<json::value> {
         return json::value(++runs);
       }});
  EXPECT_EQ(boundary.decide(request("carl", "refund", R"({"amount": 99})")).status,
            Status::success);
  EXPECT_EQ(boundary.decide(request("carl", "refund", R"({"amount": 100})")).status,
            Status::pending);
  // Leaving the argument out is no way round it.
  EXPECT_EQ(boundary.decide(request("carl", "refund")).status, Status::pending);
  // Until somebody can be asked, nothing that needs an approval runs.
  const CallResult refused = boundary.call(request("carl", "refund", R"({"amount": 100})"));
  EXPECT_EQ(refused.reason, Reason::unavailable);
  EXPECT_EQ(refused.rule, "tools.refund.approval");
  EXPECT_EQ(runs, 0);
  EXPECT_EQ(boundary.call(request("carl", "refund", R"({"amount": 99})")).status, Status::success);
}

// Nobody is locked out for asking what no version of the call could have got.
TEST(Boundary, SaysThatAToolIsUnavailableBeforeItLooksAtArguments) {
  constexpr std::string_view kTools = R"(
version: 1
roles: { r: [go] }
callers: { a: { role: r }, stranger: {} }
lockout: { after: 2 denials, within: 5min, for: 15min }
defaults: { rate: 1000/min }
tools:
  server: { mcp: [x], needs: [go], tools: [z] }
  shared: { run: [x, "{k}"], needs: [go], args: { k: { type: integer } }, dangerously_share_network: true }
  function: { tier: inline, needs: [go], args: { k: { type: integer } } }
)";
  Boundary boundary = open(kTools);
  const std::pair<const char*, const char*> rows[] = {
      {"server", "tools.server.mcp"},
      {"shared", "tools.shared.dangerously_share_network"},
      {"function", "tools.function"}};
  for (const auto& [tool, rule] : rows)
    for (const char* arguments : {"{}", R"({"no_such_argument": 1})"}) {
      const CallResult result = boundary.call(request("a", tool, arguments));
      EXPECT_EQ(name_of(result.reason), "unavailable") << tool;
      EXPECT_EQ(result.rule, rule);
      EXPECT_EQ(boundary.decide(request("a", tool, R"({"no_such_argument": 1})")).reason,
                Reason::argument)
          << "the policy's own answer";
    }
  // Who may not call it at all learns nothing about it.
  EXPECT_EQ(boundary.call(request("stranger", "server")).reason, Reason::permission);
}

TEST(Boundary, AsksAPersonAboutArgumentsThatAreTooLargeToJudge) {
  Boundary boundary = open(R"(
version: 1
roles: { clerk: [write:data], lead: [write:data] }
callers: { carl: { role: clerk }, lea: { role: lead } }
tools:
  erase:
    tier: inline
    needs: [write:data]
    args: { ids: { type: array } }
    approval: { when: { ids: { contains: { anyOf: [{ const: 1001 }, { const: 1002 }, { const: 1003 },
      { const: 1004 }, { const: 1005 }, { const: 1006 }, { const: 1007 }, { const: 1008 }] } } }, by: [lead] }
)");
  json::array ids(100'000, 0);
  ids.push_back(1001);
  CallRequest large = request("carl", "erase");
  large.arguments["ids"] = ids;
  EXPECT_EQ(boundary.decide(large).status, Status::pending);
  EXPECT_EQ(boundary.decide(request("carl", "erase", R"({"ids": [1, 2]})")).status, Status::success)
      << "the twin: what is judged and harmless needs nobody";
}

TEST(Boundary, KnowsAnAddressInEverySpelling) {
  Boundary boundary = open(R"(
version: 1
roles: { viewer: [read:data] }
callers: { vera: { role: viewer } }
lockout: { after: 2 denials, within: 5min, for: 15min, by: [address] }
)");
  add(boundary, echo("get", {"read:data"}));
  CallRequest call = request("mallory", "get");
  call.address = "2001:db8::1";
  EXPECT_EQ(boundary.call(call).reason, Reason::permission);
  EXPECT_EQ(boundary.call(call).reason, Reason::permission);
  call.caller = "vera";
  for (const char* spelling : {"2001:db8::1", "2001:DB8::1", "2001:db8:0:0::1", "2001:db8::2"}) {
    call.address = spelling;
    EXPECT_NE(boundary.call(call).status, Status::success) << spelling;
  }
  call.address = "2001:db8:0:1::1";
  EXPECT_EQ(boundary.call(call).status, Status::success);
  call.address = "not an address";
  EXPECT_EQ(boundary.call(call).reason, Reason::argument);
}

TEST(Boundary, DoesNotAnswerDryRunsOfALockedOutCaller) {
  Boundary boundary = open(R"(
version: 1
roles: { viewer: [read:data] }
callers: { vera: { role: viewer } }
lockout: { after: 2 denials, within: 5min, for: 15min, by: [caller] }
)");
  add(boundary, echo("get", {"read:data"}));
  CallRequest probe = request("vera", "gett");
  probe.dry_run = true;
  EXPECT_EQ(boundary.call(probe).reason, Reason::unknown_tool);
  EXPECT_EQ(boundary.call(probe).reason, Reason::unknown_tool);
  EXPECT_EQ(boundary.call(probe).reason, Reason::locked_out);
}

TEST(Boundary, HoldsResultsToTheirSchema) {
  Boundary boundary = open(R"(
version: 1
roles: { viewer: [read:data] }
callers: { vera: { role: viewer } }
tools:
  item: { tier: inline, needs: [read:data], output: { schema: { type: object, required: [id] } } }
)");
  add(boundary, {.name = "item",
                 .needs = {},
                 .args = object(R"({"broken": {"type": "boolean", "default": false}})"),
                 .body = [](const json::object& args) -> Result<json::value> {
                   if (args.at("broken").as_bool()) return json::value({{"name", "lamp"}});
                   return json::value({{"id", 1}});
                 }});
  EXPECT_EQ(boundary.call(request("vera", "item")).status, Status::success);
  const CallResult broken = boundary.call(request("vera", "item", R"({"broken": true})"));
  EXPECT_EQ(broken.status, Status::error);
  EXPECT_EQ(broken.reason, Reason::output_schema);
  EXPECT_FALSE(broken.data) << "what is not as promised does not come back";
}

TEST(Boundary, TakesFunctionsOnlyOnceAndOnlyWithABody) {
  Boundary boundary = shop();
  EXPECT_FALSE(boundary.add(echo("list_items", {})));
  EXPECT_FALSE(boundary.add({.name = "empty", .needs = {}}));
  EXPECT_FALSE(boundary.add(echo("bad_schema", {}, object(R"({"id": {"type": "integre"}})"))));
}

TEST(Boundary, IsSafeToCallFromManyThreads) {
  Boundary boundary = open(R"(
version: 1
roles: { viewer: [read:data] }
callers: { vera: { role: viewer }, victor: { role: viewer } }
defaults: { rate: 50/min }
)");
  add(boundary, echo("get", {"read:data"}, object(R"({"id": {"type": "integer"}})")));
  std::atomic<int> succeeded = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 40; ++i)
        if (boundary.call(request(t % 2 ? "vera" : "victor", "get", R"({"id": 1})")).status ==
            Status::success)
          ++succeeded;
    });
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(succeeded, 50);  // all callers of the tenant together
}

}  // namespace
}  // namespace sallyport
