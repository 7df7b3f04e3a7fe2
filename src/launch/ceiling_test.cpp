#include "launch/ceiling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/launcher_fixture.h"
#include "tool/file_order.h"

namespace sallyport {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kPolicy = R"(
version: 1
roles: {user: {permissions: [use]}}
tenants: {acme: {}, beta: {}}
callers:
  ann: {role: user, tenant: acme}
  bob: {role: user}
ceiling: {limits: {memory: 512MiB}, files: {deny: ["/**/.ssh/**"]}}
tools:
  reader:
    needs: [use]
    run: [cat, /data/x]
    files: {read: ["/srv/data:/data"]}
    limits: {timeout: 30s}
  writer:
    needs: [use]
    run: [tee, /out/x]
    files: {write: ["/srv/out:/out"]}
    limits: {memory: 384MiB, io: 20MB/s}
  query: {needs: [use], use: sql, database: "sqlite:/srv/shop.db", tables: [orders]}
  fetcher:
    needs: [use]
    run: [curl, "https://api.example.com/"]
    network: {allow: [api.example.com, "*.data.example.com:8443"], deny: [x.data.example.com], requests: 5, time: 10s}
  copier:
    needs: [use]
    run: [make]
    syscalls: build
    files: {write: ["/srv/src"], write_mode: copy}
  python: {needs: [use], use: run_python, warm: true, preload: [json, re]}
  node: {needs: [use], use: run_javascript, warm: true}
  cold: {needs: [use], use: run_python}
pool: {min: 3, max: 5}
)";

class LaunchCeilings : public testing::Test {
 protected:
  LaunchCeilings() {
    const auto policy = Policy::parse(kPolicy);
    if (!policy) {
      for (const auto& problem : policy.error())
        ADD_FAILURE() << to_text(problem);
      return;
    }
    auto made =
        make_launch_ceiling(policy->rules(), "/opt/sallyport", {.first = 100'000, .count = 3001});
    if (made)
      ceiling_ = std::move(*made);
    else
      ADD_FAILURE() << made.error().message;
  }

  // Why a claim with this change is refused; empty: it is not.
  template <class Change>
  std::string refusal(Change change, bool has_directory = false) {
    Claim claim = test::plain_claim();
    change(claim.spec);
    auto checked = check_claim(ceiling_, claim, {.directory = has_directory});
    if (checked) return {};
    EXPECT_EQ(checked.error().reason, Reason::cannot_enforce);
    EXPECT_FALSE(checked.error().hint.empty());
    return checked.error().message;
  }
  std::string grant(const std::string& host, const std::string& inside, bool write,
                    WriteMode mode = WriteMode::direct) {
    return refusal([&](CellSpec& spec) {
      spec.write_mode = mode;
      spec.grants = {{.host = host, .inside = inside, .write = write}};
    });
  }

  LaunchCeiling ceiling_;
};

TEST_F(LaunchCeilings, LetThroughWhatTheirPolicyHas) {
  EXPECT_EQ(refusal([](CellSpec&) {}), "");
  EXPECT_EQ(grant("/srv/data", "/data", false), "");
  EXPECT_EQ(grant("/srv/out", "/out", true), "");
  EXPECT_EQ(grant("/srv/out", "/out", false), "") << "less than granted";
  EXPECT_EQ(grant("/srv/src", "/srv/src", true, WriteMode::copy), "");
  EXPECT_EQ(grant("/opt/sallyport", std::string(kProgramInside), false), "");
  EXPECT_EQ(refusal([](CellSpec& spec) { spec.syscalls = "build"; }), "");
}

TEST_F(LaunchCeilings, LetThroughADatabaseAndItsJournalsToRead) {
  for (const std::string end : {"", "-wal", "-shm", "-journal"}) {
    EXPECT_EQ(grant("/srv/shop.db" + end, "/run/sallyport/database" + end, false), "");
    EXPECT_NE(grant("/srv/shop.db" + end, "/run/sallyport/database" + end, true), "");
  }
  EXPECT_NE(grant("/srv/shop.db-x", "/run/sallyport/database-x", false), "");
  EXPECT_NE(grant("/srv", "/run/sallyport/database", false), "");
  EXPECT_NE(grant("/srv/shop.db", "/data", false), "");
}

TEST_F(LaunchCeilings, RefuseEveryOtherPathOfTheHost) {
  EXPECT_THAT(grant("/etc", "/data", false), HasSubstr("no tool of the policy grants"));
  EXPECT_THAT(grant("/srv", "/data", false), HasSubstr("grants the path '/srv'"));
  for (const char* host : {"/", "", "/srv/data/", "/srv/data/x", "/srv//data", "/srv/./data",
                           "/srv/out/../data", "/srv/data/../../etc", "srv/data", "/SRV/data"})
    EXPECT_NE(grant(host, "/data", false), "") << host;
  EXPECT_NE(grant("/srv/data", "/elsewhere", false), "");
  EXPECT_NE(grant("/srv/data", "", false), "");
  EXPECT_NE(grant("/srv/data", "/data/../proc", false), "");
}

TEST_F(LaunchCeilings, RefuseToWriteWhereThePolicyOnlyReads) {
  EXPECT_THAT(grant("/srv/data", "/data", true), HasSubstr("be written"));
  EXPECT_NE(grant("/srv/data", "/data", true, WriteMode::copy), "");
  EXPECT_THAT(grant("/srv/src", "/srv/src", true), HasSubstr("but through a copy"));
  EXPECT_NE(grant("/srv/out", "/out", true, WriteMode::copy), "");
  EXPECT_NE(grant("/opt/sallyport", std::string(kProgramInside), true), "");
  EXPECT_NE(grant("/opt/sallyport", "/usr/bin/x", false), "");
  EXPECT_NE(grant("/etc/shadow", std::string(kProgramInside), false), "");
}

TEST_F(LaunchCeilings, TakeTheGreatestLimitsOfTheToolsBelowTheCeiling) {
  EXPECT_EQ(ceiling_.limits.timeout, std::chrono::seconds(30));
  EXPECT_EQ(ceiling_.limits.memory, 384_MiB);
  EXPECT_EQ(ceiling_.limits.processes, Limits{}.processes);
  EXPECT_FALSE(ceiling_.limits.io) << "two tools have no such limit";
  EXPECT_EQ(ceiling_.limits.max_output.bytes, Limits{}.max_result.bytes + 1);
}

// A size of zero is no size at all to a tmpfs.
TEST_F(LaunchCeilings, RefuseALimitOfZero) {
  EXPECT_THAT(refusal([](CellSpec& spec) { spec.limits.disk.bytes = 0; }),
              HasSubstr("disk of zero"));
  EXPECT_THAT(refusal([](CellSpec& spec) { spec.limits.inodes = 0; }), HasSubstr("inodes of zero"));
  EXPECT_THAT(refusal([](CellSpec& spec) { spec.limits.timeout = Duration{}; }),
              HasSubstr("timeout of zero"));
}

TEST_F(LaunchCeilings, RefuseEveryLimitThatIsWider) {
#define SALLYPORT_WIDER(limit, type, sentence)     \
  EXPECT_THAT(refusal([&](CellSpec& spec) {        \
                ceiling_.limits.io = Rate{{1000}}; \
                spec.limits = ceiling_.limits;     \
                widen_a_bit(spec.limits.limit);    \
              }),                                  \
              HasSubstr("the limit " #limit " of"));
  const auto widen_a_bit = [](auto& value) {
    using Value = std::decay_t<decltype(value)>;
    if constexpr (std::is_same_v<Value, std::optional<Rate>>)
      value->per_second.bytes += 1;
    else if constexpr (std::is_same_v<Value, ByteSize>)
      value.bytes += 1;
    else if constexpr (std::is_same_v<Value, Duration>)
      value += Duration(1);
    else
      value += 1;
  };
  SALLYPORT_LIMITS(SALLYPORT_WIDER)
#undef SALLYPORT_WIDER
  ceiling_.limits.io = Rate{{1000}};
  EXPECT_THAT(refusal([](CellSpec&) {}), HasSubstr("the limit io of no limit is wider"));
}

TEST_F(LaunchCeilings, KeepTheIoLimitThatEveryToolHas) {
  const auto policy = Policy::parse(
      "version: 1\nroles: {r: {permissions: [p]}}\ndefaults: {limits: {io: 5MB/s}}\n"
      "tools:\n  a: {needs: [p], run: [a]}\n  b: {needs: [p], run: [b], limits: {io: 9MB/s}}\n");
  ASSERT_TRUE(policy);
  const auto ceiling = make_launch_ceiling(policy->rules(), "", {});
  ASSERT_TRUE(ceiling);
  EXPECT_EQ(ceiling->limits.io, Rate{9_MB});
}

TEST_F(LaunchCeilings, RefuseRootsProfilesAndTenantsThatTheyDoNotKnow) {
  EXPECT_THAT(refusal([](CellSpec& spec) { spec.root = "/srv/root"; }), HasSubstr("root"));
  EXPECT_THAT(refusal([](CellSpec& spec) { spec.root = "/"; }), HasSubstr("root"));
  EXPECT_THAT(refusal([](CellSpec& spec) { spec.syscalls = "node"; }), HasSubstr("profile 'node'"));
  Claim claim = test::plain_claim();
  claim.tenant = "nobody";
  EXPECT_FALSE(check_claim(ceiling_, claim));
}

TEST_F(LaunchCeilings, RefuseInputsThatNameTheHostOrLeaveTheScratch) {
  const auto input = [this](InputFile file) {
    return refusal([&](CellSpec& spec) { spec.inputs = {std::move(file)}; });
  };
  EXPECT_EQ(input({.host = "", .name = "a/b", .content = "x"}), "");
  EXPECT_NE(input({.host = "/etc/shadow", .name = "a", .content = {}}), "");
  EXPECT_NE(input({.host = "/etc/shadow", .name = "a", .content = "x"}), "");
  EXPECT_NE(input({.host = "", .name = "a", .content = {}}), "");
  for (const char* name : {"", "/etc/x", "../x", "a/../../x", "a//b", "a/", "."})
    EXPECT_NE(input({.host = "", .name = name, .content = "x"}), "") << name;
  EXPECT_NE(refusal([](CellSpec& spec) {
              spec.limits.disk = 10_B;
              spec.inputs = {{.host = "", .name = "a", .content = "12345678901"}};
            }),
            "");
  EXPECT_NE(refusal([](CellSpec& spec) {
              for (int i = 0; i < 301; ++i)
                spec.inputs.push_back({.host = "", .name = std::to_string(i), .content = ""});
            }),
            "");
}

// Without a directory of the front's, root would put them where it stands.
TEST_F(LaunchCeilings, RefuseArtifactsWithoutADirectoryThatCameWithTheClaim) {
  const auto wants = [](CellSpec& spec) { spec.outputs = {"*.csv"}; };
  EXPECT_EQ(refusal(wants, true), "");
  EXPECT_NE(refusal(wants, false), "");
  EXPECT_NE(refusal([](CellSpec& spec) { spec.output_directory = "/etc"; }, true), "");
  EXPECT_NE(refusal([](CellSpec& spec) { spec.outputs = {"../*"}; }, true), "");
}

// A front that was taken over gets no host, no port and no address that no tool has.
TEST_F(LaunchCeilings, RefuseANetworkThatNoToolHas) {
  ASSERT_EQ(ceiling_.networks.size(), 1);
  const EgressRules own = ceiling_.networks[0];
  const auto asked = [&](auto change) {
    return refusal([&](CellSpec& spec) {
      spec.network = own;
      change(spec.network);
    });
  };
  EXPECT_EQ(asked([](EgressRules&) {}), "");
  EXPECT_EQ(asked([](EgressRules& rules) { rules.requests = 1; }), "");
  EXPECT_EQ(asked([](EgressRules& rules) { rules.time = std::chrono::seconds(9); }), "");
  EXPECT_EQ(asked([](EgressRules& rules) { rules.allow.clear(); }), "");
  const auto refused = HasSubstr("no tool of the policy has the network");
  EXPECT_THAT(asked([](EgressRules& rules) { rules.allow[0].host = "evil.example"; }), refused);
  EXPECT_THAT(asked([](EgressRules& rules) { rules.allow[0].port = 22; }), refused);
  EXPECT_THAT(asked([](EgressRules& rules) { rules.allow[0].internal = true; }), refused);
  EXPECT_THAT(asked([](EgressRules& rules) { rules.allow[0].address = "10.0.0.1"; }), refused);
  EXPECT_THAT(asked([](EgressRules& rules) { rules.allow[0].scheme = EgressScheme::tcp; }),
              refused);
  EXPECT_THAT(asked([](EgressRules& rules) { rules.allow.push_back(rules.allow[0]); }), refused);
  EXPECT_THAT(asked([](EgressRules& rules) { rules.deny.clear(); }), refused);
  EXPECT_THAT(asked([](EgressRules& rules) { rules.requests = 6; }), refused);
  EXPECT_THAT(asked([](EgressRules& rules) { rules.time = std::chrono::seconds(11); }), refused);
  EXPECT_THAT(asked([](EgressRules& rules) { rules.time = Duration::zero(); }), refused);
  EXPECT_THAT(asked([](EgressRules& rules) { rules.connections = 1000; }), refused);
  EXPECT_THAT(asked([](EgressRules& rules) { rules.upload = kGreatestSize; }), refused);
  EXPECT_THAT(asked([](EgressRules& rules) { rules.download = kGreatestSize; }), refused);
}

TEST_F(LaunchCeilings, LetThroughTheInterpretersOfToolsWithTheirModules) {
  const auto warm = [&](Interpreter interpreter, std::vector<std::string> preload) {
    return refusal([&](CellSpec& spec) {
      spec.warm = {.interpreter = interpreter, .preload = std::move(preload)};
    });
  };
  EXPECT_EQ(warm(Interpreter::python, {"json", "re"}), "");
  EXPECT_EQ(warm(Interpreter::node, {}), "");
  EXPECT_EQ(warm(Interpreter::none, {}), "");
  for (const std::vector<std::string>& modules : std::vector<std::vector<std::string>>{
           {}, {"json"}, {"re", "json"}, {"json", "re", "os"}, {"/tmp/evil"}})
    EXPECT_THAT(warm(Interpreter::python, modules), HasSubstr("with these modules"));
  EXPECT_THAT(warm(Interpreter::node, {"json", "re"}), HasSubstr("with these modules"));
  EXPECT_THAT(warm(Interpreter::none, {"json"}), HasSubstr("with these modules"));
  EXPECT_EQ(ceiling_.pool.min, 3U);
  EXPECT_EQ(ceiling_.pool.max, 5U);
}

TEST_F(LaunchCeilings, RefuseWordsThatAreNotPlain) {
  EXPECT_NE(refusal([](CellSpec& spec) { spec.call_id = "../../x"; }), "");
  EXPECT_NE(refusal([](CellSpec& spec) { spec.command = {}; }), "");
  EXPECT_NE(refusal([](CellSpec& spec) { spec.environment = {{"A=B", "x"}}; }), "");
  EXPECT_NE(refusal([](CellSpec& spec) { spec.hostname = "a\n127.0.0.1 bank"; }), "");
  EXPECT_NE(refusal([](CellSpec& spec) { spec.cwd = "/tmp/../proc"; }), "");
  EXPECT_NE(refusal([](CellSpec& spec) { spec.use_stdin = true; }), "");
}

TEST_F(LaunchCeilings, GiveEachTenantUidsOfItsOwn) {
  ASSERT_EQ(ceiling_.uids.size(), 3U);
  std::vector<UidRange> ranges;
  for (const auto& [tenant, range] : ceiling_.uids)
    ranges.push_back(range);
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    EXPECT_EQ(ranges[i].count, 1000U);
    EXPECT_EQ(ranges[i].first, 100'000 + 1000 * i);
  }
  Claim claim = test::plain_claim();
  claim.tenant = "beta";
  ASSERT_TRUE(check_claim(ceiling_, claim));
  EXPECT_EQ(claim.spec.uids->first, ceiling_.uids.at("beta").first);
  const auto policy = Policy::parse(kPolicy);
  EXPECT_FALSE(make_launch_ceiling(policy->rules(), "", {.first = 100'000, .count = 2}));
}

}  // namespace
}  // namespace sallyport
