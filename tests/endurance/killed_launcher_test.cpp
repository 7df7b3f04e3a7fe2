// After kill -9 of sallyport at any moment nothing of the cell goes on running, and nothing is left
// after the sweep.
#include <random>

#include "support/leftovers.h"

namespace sallyport::test {
namespace {

class KilledLauncher : public CellTest {
 protected:
  // Starts a cell whose tool would run for minutes, kills the launcher after `delay`, and sees that
  // the tool is gone too.
  static void kill_after(std::chrono::microseconds delay, const std::string& word) {
    LiveProcess cell(
        {sallyport_path(), "run", "--timeout", "5min", "--", "sh", "-c",
         "trap '' TERM INT HUP; (setsid sh -c 'sleep 300; :' " + word + " &) ; sleep 300; :", word},
        GetParam());
    std::this_thread::sleep_for(delay);
    cell.signal(SIGKILL);
    EXPECT_EQ(cell.wait(), 128 + SIGKILL);
    EXPECT_TRUE(eventually([&] { return processes_with(word).empty(); }))
        << "after " << delay.count() << " us";
  }
};

TEST_P(KilledLauncher, LeavesNothingAtAnyMomentOfTheLaunch) {
  const std::string word = unique_word();
  const auto before = traces(word);
  std::mt19937 random(20261115);
  for (int i = 0; i < 120; ++i)
    kill_after(std::chrono::microseconds(random() % 30000), word);
  // The next start sweeps.
  EXPECT_EQ(run_cell(GetParam(), {"--", "true"}).exit_code, 0);
  EXPECT_EQ(left_since(before, word), std::set<std::string>{});
}

TEST_P(KilledLauncher, LeavesNothingWhileTheToolRuns) {
  const std::string word = unique_word();
  const auto before = traces(word);
  for (int i = 0; i < 10; ++i) {
    LiveProcess cell(
        {sallyport_path(), "run", "--timeout", "5min", "--", "sh", "-c",
         "(setsid sh -c 'echo orphan; sleep 300; :' " + word + " &); echo up; sleep 300; :", word},
        GetParam());
    ASSERT_TRUE(cell.says("up"));
    ASSERT_TRUE(cell.says("orphan"));
    EXPECT_GE(processes_with(word).size(), 3U) << "the twin: they can be seen while they live";
    cell.signal(SIGKILL);
    EXPECT_EQ(cell.wait(), 128 + SIGKILL);
    EXPECT_TRUE(eventually([&] { return processes_with(word).empty(); }));
  }
  EXPECT_EQ(run_cell(GetParam(), {"--", "true"}).exit_code, 0);
  EXPECT_EQ(left_since(before, word), std::set<std::string>{});
}

// The namespace of an idmapped mount is made by a process of its own, for a moment. strace makes
// the moment last.
TEST(KilledLauncherOfRoot, LeavesNothingWhileAGrantIsPrepared) {
  const std::string word = unique_word();
  const TempDir granted;
  LiveProcess traced({"strace", "-qq", "-o", "/dev/null", "-e",
                      "inject=clone3:delay_exit=20000000:when=1", sallyport_path(), "run", "--read",
                      granted.path(), "--", "echo", word});
  std::vector<pid_t> launcher_and_namer;
  ASSERT_TRUE(eventually([&] {
    launcher_and_namer = descendants_of(traced.pid());
    return launcher_and_namer.size() == 2;
  }));
  ASSERT_EQ(::kill(launcher_and_namer.front(), SIGKILL), 0);
  traced.signal(SIGKILL);
  EXPECT_EQ(traced.wait(), 128 + SIGKILL);
  EXPECT_TRUE(eventually([&] { return processes_with(word).empty(); }, std::chrono::seconds(20)));
  for (const pid_t pid : processes_with(word))
    ::kill(pid, SIGKILL);
}

SALLYPORT_FOR_ROOT_AND_USER(KilledLauncher);

}  // namespace
}  // namespace sallyport::test
