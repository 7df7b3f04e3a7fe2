// The tool against those who hold it: the supervisor outside, and the cell's init.
#include "support/leftovers.h"

namespace sallyport::test {
namespace {

class SupervisorAttacks : public CellTest {};

// The kernel holds a pipe's lock while a splice into it waits; whoever reads the pipe meanwhile
// cannot even be killed.
TEST_P(SupervisorAttacks, TheDeadlineHoldsAlsoWhenTheToolLocksItsOutput) {
  // The twin: a plain reader of the same pipe is held up for as long as the tool likes.
  const Ran twin =
      run({"bash", "-c", probe_path() + " hold-stdout 6 | timeout -s KILL 2 cat >/dev/null"});
  EXPECT_GT(twin.took, std::chrono::seconds(4));
  for (int i = 0; i < 3; ++i) {
    const Ran ran = probe_in_cell(GetParam(), {"hold-stdout", "40"}, {"--timeout", "1s"});
    EXPECT_EQ(ran.exit_code, 124) << ran.err;
    EXPECT_LT(ran.took, std::chrono::seconds(20));
  }
}

TEST_P(SupervisorAttacks, AKilledLauncherTakesTheCellAlongAlsoWhenTheToolLocksItsOutput) {
  const std::string word = unique_word();
  std::vector<std::string> args = {sallyport_path(), "run", "--timeout", "5min"};
  for (const std::string& part : probe_grant())
    args.push_back(part);
  args.insert(args.end(), {"--", "sh", "-c", probe_inside() + " hold-stdout 300; :", word});
  LiveProcess cell(args, GetParam());
  // The launcher, the shell in the cell, and the attack itself.
  ASSERT_TRUE(eventually([&] { return processes_with("hold-stdout").size() >= 3; }));
  cell.signal(SIGKILL);
  EXPECT_EQ(cell.wait(), 128 + SIGKILL);
  EXPECT_TRUE(eventually([&] { return processes_with(word).empty(); }));
}

// Init has the tool's uid; a slow, moved or limited init would answer late, or die.
TEST_P(SupervisorAttacks, TheCellsInitKeepsItsTimeAndItsLimits) {
  LiveProcess victim({"sh", "-c", "echo ready; exec sleep 1000"}, GetParam());
  ASSERT_TRUE(victim.says("ready"));
  for (const char* way : {"idle", "nice", "pin", "limit"}) {
    EXPECT_TRUE(attack_worked(
        probe_outside({"harm-process", way, std::to_string(victim.pid())}, GetParam())))
        << way;
    EXPECT_TRUE(attack_refused(probe_in_cell(GetParam(), {"harm-process", way, "1"}))) << way;
  }
}

SALLYPORT_FOR_ROOT_AND_USER(SupervisorAttacks);

// What TCP holds in its buffers is memory too (cgroup v1 counts it apart).
TEST(SocketMemory, OfACellIsBounded) {
  EXPECT_TRUE(attack_worked(probe_outside({"fill-connections", "30", "48"})));
  EXPECT_TRUE(attack_refused(probe_in_cell(As::root, {"fill-connections", "30", "48"},
                                           {"--memory", "64MiB", "--timeout", "60s"})));
}

}  // namespace
}  // namespace sallyport::test
