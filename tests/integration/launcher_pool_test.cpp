// The launcher's pool, and a front that says what it likes about classes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "cell/late.h"
#include "launch/launcher_fixture.h"
#include "launch/pool_status.h"
#include "launch/remote_cell.h"
#include "policy/rules.h"
#include "support/live_process.h"

namespace sallyport::test {
namespace {

using testing::HasSubstr;

LaunchCeiling ceiling_with(PoolRules pool) {
  const auto policy = Policy::parse("version: 1\ntenants: {acme: {}, other: {}}\n");
  EXPECT_TRUE(policy);
  auto ceiling = make_launch_ceiling(policy->rules(), "", UidRange{});
  EXPECT_TRUE(ceiling);
  ceiling->profiles.emplace_back("default");
  ceiling->pool = pool;
  return std::move(*ceiling);
}

CellSpec shell(const std::string& script, const std::string& hostname = "right") {
  CellSpec spec;
  spec.call_id = plain_claim().spec.call_id;
  spec.command = {"sh", "-c", script};
  spec.hostname = hostname;
  return spec;
}

// What comes of a claim that names this class.
std::string say(const LauncherUnderTest& launcher, const CellSpec& spec,
                const std::string& class_bytes, unsigned char id) {
  const Fd connection = launcher.connect();
  const auto claim = make_memory_file(*encode(Claim{.tenant = "acme", .spec = spec}));
  const auto kind = make_memory_file(class_bytes);
  const int fds[] = {claim->get(), kind->get()};
  EXPECT_TRUE(send_packet(connection.get(), PacketKind::claim, kHasClass, fds, PacketId{id}));
  send_go(connection);
  const auto outcome = outcome_on(connection);
  return outcome ? outcome->output + outcome->message : "hung up";
}

std::string class_bytes(const CellSpec& spec, const std::string& tenant = "acme") {
  return *encode(Claim{.tenant = tenant, .spec = class_of(spec)});
}

TEST(LauncherPool, RunsNothingInAParkedCellBeforeTheFrontSaysSo) {
  const LauncherUnderTest launcher(ceiling_with({.min = 1, .max = 1}));
  const auto is_parked = [&] {
    const auto status = ask_status(launcher.path());
    return status && status->parked == 1;
  };
  ASSERT_EQ(run_cell_remotely(launcher.path(), "acme", shell("true"), {}).status, Status::success);
  ASSERT_TRUE(eventually(is_parked));
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Fd output(ends[0]), write_end(ends[1]);
  const CellSpec spec = shell("echo ran");
  const CellStreams streams{.output = write_end.get()};
  auto asked = ask_for_cell(launcher.path(), "acme", spec, streams);
  // The next one may be parked before anybody has looked.
  ASSERT_TRUE(eventually([&] {
    const auto status = ask_status(launcher.path());
    return status && status->hits == 1;
  })) << "it has the cell";
  pollfd silent{.fd = output.get(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&silent, 1, 200), 0);
  // Let go unused, the cell is not used for another call.
  asked.reset();
  ASSERT_TRUE(eventually(is_parked)) << "a new one";
  EXPECT_EQ(::poll(&silent, 1, 0), 0);
  // The twin.
  asked = ask_for_cell(launcher.path(), "acme", spec, streams);
  EXPECT_EQ(asked->run().output, "ran\n");
  EXPECT_EQ(::poll(&silent, 1, 0), 1);
}

TEST(LauncherPool, GivesCallsOfOneClassCellsThatWereMadeAhead) {
  const LauncherUnderTest launcher(ceiling_with({.min = 2, .max = 4}));
  for (int i = 0; i < 10; ++i) {
    if (i > 0)
      ASSERT_TRUE(eventually([&] {
        const auto status = ask_status(launcher.path());
        return status && status->parked >= 2;
      }));
    const Outcome outcome = run_cell_remotely(launcher.path(), "acme",
                                              shell("hostname; echo " + std::to_string(i)), {});
    EXPECT_EQ(outcome.output, "right\n" + std::to_string(i) + "\n") << outcome.message;
  }
  const auto status = ask_status(launcher.path());
  ASSERT_TRUE(status);
  EXPECT_EQ(status->hits, 9U);
  EXPECT_EQ(status->misses, 1U);
  EXPECT_EQ(status->classes, 1U);
  EXPECT_EQ(status->expired, 0U);
  EXPECT_GE(status->built, 10U);
}

TEST(LauncherPool, HasCellsOfExpectedClassesBeforeTheFirstClaim) {
  LaunchCeiling ceiling = ceiling_with({.min = 2, .max = 4});
  ceiling.expected.push_back(class_bytes(shell("-")));
  const LauncherUnderTest launcher(std::move(ceiling));
  ASSERT_TRUE(eventually([&] {
    const auto status = ask_status(launcher.path());
    return status && status->parked == 2;
  }));
  EXPECT_EQ(run_cell_remotely(launcher.path(), "acme", shell("echo ran"), {}).output, "ran\n");
  const auto status = ask_status(launcher.path());
  ASSERT_TRUE(status);
  EXPECT_EQ(status->hits, 1U);
  EXPECT_EQ(status->misses, 0U);
}

// The file systems of the roots of two cells that are there at the same time.
std::set<std::string> roots_of(const LauncherUnderTest& launcher, const std::string& first,
                               const std::string& second) {
  EXPECT_TRUE(eventually([&] {
    const auto status = ask_status(launcher.path());
    return status && status->parked >= 2;
  }));
  std::set<std::string> devices;
  auto one = ask_for_cell(launcher.path(), first, shell("stat -c 'device %d' /"), {});
  auto other = ask_for_cell(launcher.path(), second, shell("stat -c 'device %d' /"), {});
  for (auto* asked : {&one, &other}) {
    const Outcome outcome = (*asked)->run();
    EXPECT_THAT(outcome.output, HasSubstr("device ")) << outcome.message;
    devices.insert(outcome.output);
  }
  return devices;
}

TEST(LauncherPool, LetsTheSupervisorsOfATenantShareOneRoot) {
  ASSERT_EQ(::geteuid(), 0U) << "only root has shared roots";
  const LauncherUnderTest launcher(ceiling_with({.min = 2, .max = 4}));
  for (const char* tenant : {"acme", "other"})
    ASSERT_EQ(run_cell_remotely(launcher.path(), tenant, shell("true"), {}).status,
              Status::success);
  EXPECT_THAT(roots_of(launcher, "acme", "acme"), testing::SizeIs(1));
  EXPECT_THAT(roots_of(launcher, "other", "other"), testing::SizeIs(1));
  EXPECT_THAT(roots_of(launcher, "acme", "other"), testing::SizeIs(2));
}

TEST(LauncherPool, MakesNoneWhereItMayKeepNone) {
  const LauncherUnderTest launcher(ceiling_with({.max = 0}));
  EXPECT_EQ(run_cell_remotely(launcher.path(), "acme", shell("hostname"), {}).output, "right\n");
  const auto status = ask_status(launcher.path());
  ASSERT_TRUE(status);
  EXPECT_EQ(status->built, 0U);
  EXPECT_EQ(status->classes, 0U);
}

// A cell of another class is never used, whatever the front says.
TEST(LauncherPool, UsesNoCellThatWasMadeForSomethingElse) {
  const LauncherUnderTest launcher(ceiling_with({.min = 2, .max = 4}));
  const CellSpec right = shell("hostname; id -u; ulimit -n");
  const std::string expected = say(launcher, right, class_bytes(right), 1);
  EXPECT_THAT(expected, HasSubstr("right\n"));
  const CellSpec wrong = shell("hostname; id -u; ulimit -n", "wrong");
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(say(launcher, right, class_bytes(wrong), 2), expected);
    EXPECT_EQ(say(launcher, right, class_bytes(right, "default"), 3), expected);
  }
  EXPECT_THAT(say(launcher, wrong, class_bytes(wrong), 2), HasSubstr("wrong\n")) << "the twin";
  ASSERT_TRUE(eventually([&] {
    const auto status = ask_status(launcher.path());
    return status && status->parked >= 6 && status->building == 0;
  })) << "they were made";
}

// What it would not run it does not make ahead either; and the call is answered all the same.
TEST(LauncherPool, MakesNoCellThatTheCeilingDoesNotLetThrough) {
  const LauncherUnderTest launcher(ceiling_with({.min = 2, .max = 4}));
  const CellSpec right = shell("hostname");
  using Change = void (*)(CellSpec&);
  const Change changes[] = {
      [](CellSpec& s) { s.root = "/"; },
      [](CellSpec& s) { s.syscalls = "build"; },
      [](CellSpec& s) { s.grants = {{.host = "/etc", .inside = "/data"}}; },
      [](CellSpec& s) { s.grants = {{.host = "/etc", .inside = "/data", .write = true}}; },
      [](CellSpec& s) { s.limits.memory.bytes *= 2; },
      [](CellSpec& s) { s.warm = {.interpreter = Interpreter::python, .preload = {"os"}}; },
      [](CellSpec& s) { s.hostname = "../x"; },
  };
  unsigned char id = 10;
  for (const Change change : changes) {
    CellSpec other = right;
    change(other);
    EXPECT_EQ(say(launcher, right, class_bytes(other), ++id), "right\n") << int{id};
    EXPECT_THAT(say(launcher, other, class_bytes(other), id), HasSubstr("the launcher refused"))
        << int{id};
  }
  for (const std::string& bytes :
       {std::string(), std::string("garbage"), std::string(100'000, 'x')})
    EXPECT_EQ(say(launcher, right, bytes, ++id), "right\n");
  // One id for two classes: the first is kept.
  EXPECT_EQ(say(launcher, right, class_bytes(right), ++id), "right\n");
  EXPECT_EQ(say(launcher, right, "garbage", id), "right\n");
  EXPECT_TRUE(launcher.alive());
}

// A thousand made-up classes cost the front, and nobody else.
TEST(LauncherPool, KeepsFewClassesOfAFrontThatMakesThemUp) {
  const LauncherUnderTest launcher(ceiling_with({.max = 2, .memory = {20'000'000}}));
  for (int i = 0; i < 100; ++i) {
    const CellSpec spec = shell("hostname", "h" + std::to_string(i));
    ASSERT_EQ(run_cell_remotely(launcher.path(), "acme", spec, {}).output,
              "h" + std::to_string(i) + "\n");
  }
  const auto status = ask_status(launcher.path());
  ASSERT_TRUE(status);
  EXPECT_LE(status->classes, 64U);
}

TEST(LauncherPool, OutlivesItsCells) {
  const LauncherUnderTest launcher(ceiling_with({.min = 3, .max = 3}));
  const auto call = [&] {
    const Outcome outcome = run_cell_remotely(launcher.path(), "acme", shell("hostname"), {});
    return outcome.output + outcome.message;
  };
  EXPECT_EQ(call(), "right\n");
  for (int round = 0; round < 3; ++round) {
    // Whatever is parked is killed, from its init on or with its supervisor. One that is told of a
    // call while it dies loses that call, and says that nothing was run.
    std::vector<pid_t> killed;
    EXPECT_TRUE(eventually([&] {
      killed = descendants_of(launcher.pid());
      if (round == 1)
        std::erase_if(killed, [](pid_t pid) { return status_of(pid, "Name") != "sallyport-init"; });
      return !killed.empty();
    }));
    for (const pid_t pid : killed)
      ::kill(pid, SIGKILL);
    EXPECT_TRUE(eventually([&] {
      const std::vector<pid_t> now = descendants_of(launcher.pid());
      return std::ranges::none_of(
          killed, [&](pid_t pid) { return std::ranges::find(now, pid) != now.end(); });
    }));
    for (int i = 0; i < 5; ++i) {
      std::string said;
      EXPECT_TRUE(eventually([&] { return (said = call()) == "right\n"; })) << round << said;
    }
  }
  EXPECT_TRUE(launcher.alive());
}

}  // namespace
}  // namespace sallyport::test
