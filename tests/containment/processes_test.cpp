// A cell's processes see and reach only each other, and all of them end with the command.
#include <termios.h>

#include <cstdlib>

#include "support/live_process.h"

namespace sallyport::test {
namespace {

using Words = std::vector<std::string>;
using std::chrono::seconds;

Words operator+(Words left, const Words& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

// Runs a line of sh in a cell that has the probe.
Words shell(const std::string& line) {
  return probe_grant() + Words{"--", "sh", "-c", line};
}

// A process of the host that an attack should not reach.
LiveProcess start_victim(As as, const std::string& word = "victim") {
  return LiveProcess({"sh", "-c", "echo ready; exec sleep 1000", word}, as);
}

// What no test needs to wait for: gone before anybody would notice.
bool gone(const std::string& word) {
  return eventually([&] { return processes_with(word).empty(); });
}

class Processes : public CellTest {};
SALLYPORT_FOR_ROOT_AND_USER(Processes);

// ---- Who can be reached

TEST_P(Processes, TheHostsProcessesCannotBeSignalled) {
  LiveProcess victim = start_victim(GetParam());
  ASSERT_TRUE(victim.says("ready"));
  const Words attack = {"signal", std::to_string(victim.pid()), "0"};
  EXPECT_TRUE(attack_worked(probe_outside(attack, GetParam())));
  const Ran inside = probe_in_cell(GetParam(), attack);
  EXPECT_TRUE(attack_refused(inside));
  EXPECT_EQ(inside.out, "kill: No such process\n");
}

// The twin's host is a pid namespace, which is all that its kill(-1) can reach.
TEST_P(Processes, KillingEverybodyEndsOnlyTheCellsOwn) {
  const std::string line = "sleep 1000 & " + probe_path() + " signal -1 9; wait $!; exit $?";
  EXPECT_EQ(run({"unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", line}).exit_code, 137);

  LiveProcess victim = start_victim(GetParam());
  ASSERT_TRUE(victim.says("ready"));
  const Ran inside =
      run_cell(GetParam(), shell("sleep 1000 & setsid " + probe_inside() + " signal -1 9"));
  EXPECT_EQ(inside.exit_code, 137) << inside.err;  // the shell is one of everybody
  EXPECT_TRUE(victim.alive());
}

// "kill(0) hits the launcher's process group"
TEST_P(Processes, TheCallersProcessGroupIsNotTheCells) {
  const auto group_of = [](const std::string& command) {
    return "sleep 1000 & echo $!; (" + command + "); kill -0 $! && echo alive; kill -9 $!";
  };
  LiveProcess twin({"sh", "-c", group_of(probe_path() + " signal 0 9")}, GetParam());
  EXPECT_EQ(twin.wait(), 137);

  LiveProcess caller({"sh", "-c",
                      group_of(sallyport_path() + " run " + probe_grant()[0] + " " +
                               probe_grant()[1] + " -- " + probe_inside() + " signal 0 9") +
                          "; echo end"},
                     GetParam());
  EXPECT_TRUE(caller.says("alive\nend"));
}

// The kernel lets nobody in its namespace end or stop PID 1, and init blocks what could be handled.
TEST_P(Processes, TheCellsInitCannotBeEndedOrStopped) {
  const std::string every_signal =
      "for signal in $(seq 1 64); do kill -$signal $pid 2> /dev/null; done; ";
  const Ran outside =
      run({"sh", "-c", "sleep 1000 & pid=$!; " + every_signal + "wait $pid; exit $?"});
  EXPECT_GT(outside.exit_code, 128);
  // That init is not only there but does its work shows in the orphans that it reaps.
  const Ran inside = run_cell(GetParam(), shell("pid=1; " + every_signal + probe_inside() +
                                                " zombies 10; [ $? = 1 ] && exit 7"));
  EXPECT_EQ(inside.exit_code, 7) << inside.out << inside.err;
}

TEST_P(Processes, OnlyTheCellsOwnAreSeen) {
  const std::string word = unique_word();
  LiveProcess victim = start_victim(GetParam(), word);
  ASSERT_TRUE(victim.says("ready"));
  const std::string line = "cat /proc/[0-9]*/cmdline | tr -d '\\0'; echo; echo /proc/[0-9]*";
  const Ran outside = run({"sh", "-c", line}, RunOptions{.as = GetParam()});
  EXPECT_NE(outside.out.find(std::to_string(victim.pid())), std::string::npos);
  const Ran inside = run_cell(GetParam(), {"--", "sh", "-c", line});
  EXPECT_EQ(inside.out.find(word), std::string::npos);
  EXPECT_TRUE(inside.out.starts_with("sallyport-initsh")) << inside.out;
  EXPECT_TRUE(inside.out.ends_with("\n/proc/1 /proc/2\n")) << inside.out;
}

// Signals to PID 1 behave differently, and so would the tool.
TEST_P(Processes, TheToolIsNeverPidOne) {
  EXPECT_EQ(run({"unshare", "--pid", "--fork", "sh", "-c", "echo $$"}).out, "1\n");
  EXPECT_EQ(run_cell(GetParam(), {"--", "sh", "-c", "echo $$ $PPID"}).out, "2 1\n");
}

// ---- What outlives the command

TEST_P(Processes, ADaemonDoesNotSurviveTheCommand) {
  const std::string word = unique_word();
  {
    LiveProcess twin({probe_path(), "daemon", word}, GetParam());
    EXPECT_EQ(twin.wait(), 0);
    const auto survivors = processes_with(word);
    EXPECT_EQ(survivors.size(), 1u);
    for (const pid_t pid : survivors)
      ::kill(pid, SIGKILL);
    ASSERT_TRUE(gone(word));
  }
  EXPECT_TRUE(attack_worked(probe_in_cell(GetParam(), {"daemon", word})));
  EXPECT_TRUE(processes_with(word).empty());
}

TEST_P(Processes, ADaemonDoesNotSurviveATimeout) {
  const std::string word = unique_word();
  const Ran inside = run_cell(
      GetParam(), Words{"--timeout", "500ms"} + shell(probe_inside() + " daemon " + word +
                                                      "; echo left; trap '' TERM INT; sleep 1000"));
  EXPECT_EQ(inside.exit_code, 124) << inside.err;
  EXPECT_EQ(inside.out, "left\n");
  EXPECT_TRUE(gone(word));
}

// "pipe held open after return"
TEST_P(Processes, APipeHeldOpenDoesNotDelayTheAnswer) {
  const Ran outside = run({"sh", "-c", "sleep 2 & echo done"});
  EXPECT_GE(outside.took, seconds(2));
  const Ran inside = run_cell(GetParam(), {"--timeout", "100s", "--", "sh", "-c",
                                           "sleep 1000 & setsid sleep 1000 & echo done"});
  EXPECT_EQ(inside.exit_code, 0) << inside.err;
  EXPECT_EQ(inside.out, "done\n");
  EXPECT_LT(inside.took, seconds(20));
}

// Below a PID 1 that waits for one child only, orphans pile up.
TEST_P(Processes, OrphansAreReaped) {
  const std::string careless_init =
      "import os, sys\n"
      "child = os.spawnv(os.P_NOWAIT, sys.argv[1], sys.argv[1:])\n"
      "sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n";
  const Ran outside = run({"unshare", "--pid", "--fork", "--mount-proc", "/usr/bin/python3", "-c",
                           careless_init, probe_path(), "zombies", "20"});
  EXPECT_TRUE(attack_worked(outside));
  // Far more than the cell may have at once.
  EXPECT_TRUE(attack_refused(probe_in_cell(GetParam(), {"zombies", "500"}, {"--processes", "20"})));
}

// The twin's bomb is bounded by the limit of a user who has nothing else, and ends with its
// namespace.
TEST_P(Processes, AForkBombIsHeldAndEndsAtTheDeadline) {
  const std::string word = unique_word();
  {
    const std::string nobody_else = std::to_string(1'000'000 + ::getpid());
    LiveProcess twin({"unshare", "--pid", "--fork", "--kill-child", "sh", "-c",
                      "setpriv --reuid " + nobody_else + " --clear-groups --regid " + nobody_else +
                          " prlimit --nproc=40 " + probe_path() + " fork-bomb " + word + "; wait"});
    EXPECT_TRUE(eventually([&] { return processes_with(word).size() >= 30; }));
  }
  ASSERT_TRUE(gone(word));

  Words args = Words{"--json", "--timeout", "1s", "--processes", "20"} + probe_grant();
  const Ran inside = run_cell(GetParam(), args + Words{"--", probe_inside(), "fork-bomb", word});
  EXPECT_EQ(inside.exit_code, 124);
  EXPECT_LT(inside.took, seconds(20));
  const auto result = inside.json();
  EXPECT_EQ(result.at("reason"), "timeout");
  EXPECT_EQ(result.at("output"), "forking\n");
  EXPECT_LE(result.at("usage").at("processes").to_number<int>(), 20);
  EXPECT_TRUE(gone(word));
}

TEST_P(Processes, AStoppedProcessEndsAtTheTimeout) {
  LiveProcess twin({probe_path(), "stop"}, GetParam());
  ASSERT_TRUE(twin.says("stopping"));
  EXPECT_TRUE(eventually([&] { return status_of(twin.pid(), "State").starts_with("T"); }));

  const std::string word = unique_word();
  const Ran inside = probe_in_cell(GetParam(), {"stop", word}, {"--timeout", "300ms"});
  EXPECT_EQ(inside.exit_code, 124) << inside.err;
  EXPECT_TRUE(gone(word));
}

// ---- Signals to Sallyport

class Interrupted : public Processes {
 protected:
  // A cell with everything that could stay behind.
  static LiveProcess start(const std::string& word, int terminal = -1) {
    return start_cell(GetParam(),
                      Words{"--timeout", "100s"} +
                          shell(probe_inside() + " daemon " + word +
                                "; trap '' TERM INT HUP QUIT; echo ready; exec sleep 1000"),
                      terminal);
  }
};
SALLYPORT_FOR_ROOT_AND_USER(Interrupted);

TEST_P(Interrupted, SallyportEndsTheWholeTreeWhenItIsAskedToEnd) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    SCOPED_TRACE(strsignal(signal));
    const std::string word = unique_word();
    LiveProcess cell = start(word);
    ASSERT_TRUE(cell.says("ready"));
    EXPECT_FALSE(processes_with(word).empty());
    cell.signal(signal);
    EXPECT_EQ(cell.wait(), 130);
    EXPECT_TRUE(gone(word));
  }
}

TEST_P(Interrupted, TheInterruptKeyEndsTheWholeTree) {
  const Fd master(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  ASSERT_TRUE(master && ::unlockpt(master.get()) == 0);
  const Fd slave(::open(::ptsname(master.get()), O_RDWR | O_NOCTTY | O_CLOEXEC));
  const std::string word = unique_word();
  LiveProcess cell = start(word, slave.get());
  ASSERT_TRUE(eventually([&] { return descendants_of(cell.pid()).size() >= 3; }));
  ASSERT_EQ(::write(master.get(), "\x03", 1), 1);
  EXPECT_EQ(cell.wait(), 130);
  EXPECT_TRUE(gone(word));
}

// "launcher SIGKILLed": nobody is left to clean up, so the kernel has to.
TEST_P(Interrupted, TheWholeTreeEndsWithSallyportItself) {
  const std::string word = unique_word();
  {
    LiveProcess twin(
        {"sh", "-c", probe_path() + " daemon " + word + "; echo ready; exec sleep 1000"},
        GetParam());
    ASSERT_TRUE(twin.says("ready"));
    twin.signal(SIGKILL);
    EXPECT_EQ(twin.wait(), 137);
    const auto survivors = processes_with(word);
    EXPECT_EQ(survivors.size(), 1u);
    for (const pid_t pid : survivors)
      ::kill(pid, SIGKILL);
    ASSERT_TRUE(gone(word));
  }
  LiveProcess cell = start(word);
  ASSERT_TRUE(cell.says("ready"));
  const auto tree = descendants_of(cell.pid());
  EXPECT_GE(tree.size(), 3u);
  cell.signal(SIGKILL);
  EXPECT_EQ(cell.wait(), 137);
  EXPECT_TRUE(gone(word));
  for (const pid_t pid : tree)
    EXPECT_TRUE(eventually([&] { return ::kill(pid, 0) != 0 && errno == ESRCH; })) << pid;
}

}  // namespace
}  // namespace sallyport::test
