#include "launch/expected_classes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/call_id.h"
#include "cell/late.h"
#include "launch/wire.h"
#include "policy/envelope.h"
#include "sallyport/policy.h"
#include "tool/cell_call.h"

namespace sallyport {
namespace {

using testing::Contains;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kProgram = "/opt/sallyport";

constexpr const char* kTools = R"(
tools:
  echo: {run: [echo, "{x}"], needs: [use], args: {x: {type: string}}, require: [cgroup]}
  fed: {run: [cat], needs: [use], input: json, args: {x: {type: string}}}
  python: {use: run_python, needs: [use], warm: true, preload: [json], syscalls: python-data}
  script: {use: run_shell, needs: [use], files: {read: ["/srv/data:/data"]}, output: {redact: [secrets]}}
  shell: {use: run_command, needs: [use], commands: [ls], environment: {A: b}, collect: ["*.csv"]}
  reading: {use: read_file, needs: [use], files: {read: ["/srv/data:/data"]}}
  listing: {use: list_files, needs: [use], files: {read: ["/srv/data:/data", "/srv/more:/more"]}}
  searching: {use: search_files, needs: [use], files: {read: ["/srv/data:/data"]}}
)";

Policy parse(const std::string& text) {
  auto policy = Policy::parse(text);
  if (policy) return std::move(*policy);
  for (const auto& problem : policy.error())
    ADD_FAILURE() << to_text(problem);
  return *Policy::parse("version: 1");
}

Policy policy_with(const std::string& pool) {
  return parse(std::string("version: 1\nroles: {user: [use], none: []}\n"
                           "tenants: {acme: {limits: {memory: 100MiB}}}\n"
                           "callers: {ann: {role: user, tenant: acme}, bea: {role: user, tenant: "
                           "acme}, cid: {role: none}}\n"
                           "pool: ") +
               pool + kTools);
}

// The class of a call, as the front asks for it.
std::string class_of_call(const Rules& rules, const std::string& name,
                          const json::object& arguments) {
  const Tool& tool = rules.tools.at(name);
  const Envelope envelope = make_envelope(rules, tool, rules.callers.at("ann"));
  CallRequest request;
  auto spec = make_cell_spec({.tool = tool,
                              .envelope = envelope,
                              .limits = envelope.limits,
                              .arguments = arguments,
                              .request = request,
                              .program = kProgram});
  if (!spec) {
    ADD_FAILURE() << name << ": " << spec.error().message;
    return {};
  }
  spec->call_id = make_call_id();
  EXPECT_TRUE(may_be_parked(*spec)) << name;
  return *encode(Claim{.tenant = "acme", .spec = class_of(*spec)});
}

TEST(ExpectedClasses, AreThoseThatCallsAskFor) {
  const Policy policy = policy_with("{min: 1}");
  const auto classes = expected_classes(policy.rules(), kProgram);
  EXPECT_THAT(classes, SizeIs(7)) << "reading and searching share one";
  const std::pair<const char*, json::object> calls[] = {
      {"echo", {{"x", "y"}}},
      {"fed", {{"x", "y"}}},
      {"python", {{"code", "print(1)"}}},
      {"script", {{"code", "true"}}},
      {"shell", {{"command", "ls -l"}}},
      {"reading", {{"path", "/data/a"}}},
      {"listing", {}},
      {"searching", {{"pattern", "a"}}},
  };
  for (const auto& [tool, arguments] : calls)
    EXPECT_THAT(classes, Contains(class_of_call(policy.rules(), tool, arguments))) << tool;
}

TEST(ExpectedClasses, AreNoneWhereNoCellIsKeptReady) {
  EXPECT_THAT(expected_classes(policy_with("{min: 0}").rules(), kProgram), IsEmpty());
  EXPECT_THAT(expected_classes(policy_with("{max: 0}").rules(), kProgram), IsEmpty());
}

TEST(ExpectedClasses, AreNotOfCellsThatAreMadeForOneCall) {
  const Policy policy = parse(R"(
version: 1
roles: {user: [use]}
callers: {ann: {role: user}}
pool: {min: 1}
tools:
  writer: {run: [tee, /out/x], needs: [use], files: {write: ["/srv/out:/out"]}}
  writing: {use: write_file, needs: [use], files: {write: ["/srv/out:/out"]}}
  fetcher: {run: [curl, "https://a.example/"], needs: [use], network: {allow: [a.example]}}
  fetch: {use: http_fetch, needs: [use], network: {allow: [a.example]}}
  query: {use: sql, needs: [use], database: "sqlite:/srv/shop.db", tables: [orders]}
  admins: {run: [id], needs: [admin]}
)");
  EXPECT_THAT(expected_classes(policy.rules(), kProgram), IsEmpty());
}

TEST(ExpectedClasses, DifferByTenantAndByLimits) {
  const Policy policy = parse(R"(
version: 1
roles: {user: [use], small: {permissions: [use], limits: {memory: 50MiB}}}
tenants: {acme: {}}
callers:
  ann: {role: user, tenant: acme}
  bob: {role: user, tenant: acme}
  cid: {role: user}
  dan: {role: small, tenant: acme}
  eve: {role: user, tenant: acme, limits: {memory: 40MiB}}
  fay: {role: user, tenant: acme, limits: {timeout: 1s}}
pool: {min: 1}
tools: {echo: {run: [echo], needs: [use]}}
)");
  // ann, bob and fay (a deadline comes late) share one.
  EXPECT_THAT(expected_classes(policy.rules(), kProgram), SizeIs(4));
}

}  // namespace
}  // namespace sallyport
