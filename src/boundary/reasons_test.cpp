// The one list of reasons, held against what the gates do and what the documentation says.
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <set>
#include <sstream>
#include <thread>

#include "boundary/boundary_fixture.h"
#include "sallyport/reason.h"

namespace sallyport {
namespace {

constexpr std::string_view kPolicy = R"(
version: 1
roles:
  viewer: [read:data]
  editor: [read:data, write:data]
tenants:
  spent: { budget: { cpu: 1ms/day } }
callers:
  vera: { role: viewer }
  edgar: { role: editor }
  tim: { role: viewer, tenant: spent }
lockout: { after: 3 denials, within: 5min, for: 15min, by: [caller] }
tools:
  get: { tier: inline, needs: [read:data], args: { id: { type: integer, optional: true } } }
  once: { tier: inline, needs: [read:data], rate: 1/h }
  slow: { tier: thread, needs: [read:data], limits: { timeout: 1ms } }
  big: { tier: inline, needs: [read:data], limits: { max_result: 1B } }
  odd: { tier: inline, needs: [read:data], output: { schema: { type: object } } }
  alone: { tier: inline, needs: [read:data], concurrency: 1 }
  fails: { tier: inline, needs: [read:data] }
  absent: { tier: inline, needs: [read:data] }
  danger: { tier: inline, needs: [read:data], approval: { by: [editor] } }
  held: { tier: inline, needs: [read:data], output: { patterns: ["some t"], redact: block } }
  code: { use: run_python, needs: [read:data], screen: block }
)";

Boundary gates() {
  Boundary boundary = open(kPolicy);
  for (const char* name : {"get", "once", "big", "odd", "danger", "held"})
    add(boundary,
        {.name = name, .needs = {}, .body = [](const json::object&) -> Result<json::value> {
           return json::value("some text");
         }});
  add(boundary,
      {.name = "slow", .needs = {}, .body = [](const json::object&) -> Result<json::value> {
         std::this_thread::sleep_for(std::chrono::milliseconds{50});
         return json::value(1);
       }});
  add(boundary,
      {.name = "fails", .needs = {}, .body = [](const json::object&) -> Result<json::value> {
         return fail(Reason::exit, "it did not work");
       }});
  return boundary;
}

// Reasons that gates give, each with a call that meets it.
const std::map<Reason, std::function<CallResult()>> kGates = {
    {Reason::permission, [] { return gates().call(request("mallory", "get")); }},
    {Reason::unknown_tool, [] { return gates().call(request("vera", "gett")); }},
    {Reason::argument, [] { return gates().call(request("vera", "get", R"({"idd": 1})")); }},
    {Reason::rate_limit,
     [] {
       Boundary boundary = gates();
       (void)boundary.call(request("vera", "once"));
       return boundary.call(request("vera", "once"));
     }},
    {Reason::concurrency,
     [] {
       Boundary boundary = gates();
       CallResult inner;
       add(boundary,
           {.name = "alone", .needs = {}, .body = [&](const json::object&) -> Result<json::value> {
              inner = boundary.call(request("vera", "alone"));
              return json::value(1);
            }});
       (void)boundary.call(request("vera", "alone"));
       return inner;
     }},
    {Reason::budget, [] { return gates().call(request("tim", "get")); }},
    {Reason::locked_out,
     [] {
       Boundary boundary = gates();
       for (int i = 0; i < 3; ++i)
         (void)boundary.call(request("vera", "gett"));
       return boundary.call(request("vera", "get"));
     }},
    {Reason::approval, [] { return gates().decide(request("vera", "danger")); }},
    {Reason::timeout, [] { return gates().call(request("vera", "slow")); }},
    {Reason::exit, [] { return gates().call(request("vera", "fails")); }},
    {Reason::output_schema, [] { return gates().call(request("vera", "odd")); }},
    {Reason::result_too_large, [] { return gates().call(request("vera", "big")); }},
    {Reason::withheld, [] { return gates().call(request("vera", "held")); }},
    {Reason::screen,
     [] { return gates().call(request("vera", "code", R"py({"code": "eval(x)"})py")); }},
    {Reason::unavailable, [] { return gates().call(request("vera", "absent")); }},
};

// Reasons that a cell gives; tests/integration meets them with real cells.
const std::set<Reason> kCells = {Reason::cpu,           Reason::memory,    Reason::output,
                                 Reason::syscall,       Reason::cancelled, Reason::signal,
                                 Reason::cannot_enforce};

// Reasons of features that are not there yet, and of accidents.
const std::set<Reason> kNotGivenYet = {Reason::rejected, Reason::expired, Reason::in_flight,
                                       Reason::key_reused, Reason::outcome_unknown};
const std::set<Reason> kAccidents = {Reason::internal};

TEST(Reasons, AreEachMetBySomething) {
  for (const ReasonText& row : kReasons) {
    const int known =
        (kGates.contains(row.reason) ? 1 : 0) + (kCells.contains(row.reason) ? 1 : 0) +
        (kNotGivenYet.contains(row.reason) ? 1 : 0) + (kAccidents.contains(row.reason) ? 1 : 0);
    EXPECT_EQ(known, 1) << row.name;
  }
}

TEST(Reasons, ComeWithASentenceARuleAndAHint) {
  for (const auto& [reason, meet] : kGates) {
    const CallResult result = meet();
    EXPECT_EQ(name_of(result.reason), name_of(reason)) << result.message;
    EXPECT_NE(result.status, Status::success);
    EXPECT_FALSE(result.message.empty()) << name_of(reason);
    if (result.status == Status::blocked) {
      EXPECT_FALSE(result.rule.empty()) << name_of(reason);
      EXPECT_FALSE(result.hint.empty()) << name_of(reason);
    }
    EXPECT_FALSE(result.data) << name_of(reason);
  }
}

TEST(Reasons, AreDocumented) {
  std::ifstream file(SALLYPORT_SOURCE_DIR "/docs/reasons.md");
  std::stringstream text;
  text << file.rdbuf();
  for (const ReasonText& row : kReasons) {
    const std::string line = "| `" + std::string(row.name) + "` | " + std::string(row.sentence) +
                             " | " + (row.denial ? "yes" : "no") + " |\n";
    EXPECT_NE(text.str().find(line), std::string::npos) << "docs/reasons.md lacks:\n" << line;
  }
}

}  // namespace
}  // namespace sallyport
