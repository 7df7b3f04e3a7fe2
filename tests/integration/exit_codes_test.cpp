// The exit code of `sallyport run`, which scripts decide by.
#include <gmock/gmock.h>

#include "support/cell_result.h"
#include "support/live_process.h"

namespace sallyport::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

class ExitCode : public CellTest {
 protected:
  static int of(const std::vector<std::string>& command, std::vector<std::string> options = {}) {
    options.emplace_back("--");
    options.insert(options.end(), command.begin(), command.end());
    return run_cell(GetParam(), options).exit_code;
  }
  static int of_script(const std::string& script) { return of({"sh", "-c", script}); }
};

TEST_P(ExitCode, IsTheCommandsOwn) {
  for (const int code : {0, 1, 2, 42, 124, 125, 126, 127, 137, 255})
    EXPECT_EQ(of_script("exit " + std::to_string(code)), code);
}

TEST_P(ExitCode, Is128AndTheSignalThatEndedTheCommand) {
  EXPECT_EQ(of_script("kill -TERM $$"), 128 + SIGTERM);
  EXPECT_EQ(of_script("kill -SEGV $$"), 128 + SIGSEGV);
  EXPECT_EQ(of_script("kill -KILL $$"), 128 + SIGKILL);
  EXPECT_EQ(of_script("kill -HUP $$"), 128 + SIGHUP);
}

TEST_P(ExitCode, OfASignalIsNotMistakenForAKillAtALimit) {
  const CellResult result(run_cell(GetParam(), {"--json", "--", "sh", "-c", "kill -KILL $$"}));
  EXPECT_EQ(result.exit_code, 137);
  EXPECT_EQ(result.text("status"), "error");
  EXPECT_EQ(result.text("reason"), "signal");
  EXPECT_EQ(result.json.at("exit_code"), 137);
}

TEST_P(ExitCode, Is124AtTheTimeout) {
  const Ran ran = run_cell(GetParam(), {"--timeout", "200ms", "--", "sleep", "99"});
  EXPECT_EQ(ran.exit_code, 124);
  EXPECT_THAT(ran.err, HasSubstr("sallyport: killed: it ran longer than 200ms"));
}

TEST_P(ExitCode, Is125WhenNothingWasRun) {
  TempDir directory(GetParam());
  const std::string canary = directory / "canary";
  EXPECT_EQ(of({"touch", canary}, {"--write", directory.path(), "--cwd", "/nowhere"}), 125);
  EXPECT_FALSE(std::filesystem::exists(canary));
  EXPECT_EQ(of({"touch", canary}, {"--write", directory.path()}), 0) << "the twin";
  EXPECT_TRUE(std::filesystem::exists(canary));
}

TEST_P(ExitCode, Is126ForWhatIsThereAndCannotBeExecuted) {
  TempDir directory(GetParam());
  write_file(directory / "plain", "#!/bin/sh\necho ran\n", GetParam(), 0644);
  write_file(directory / "nonsense", "no program at all\n", GetParam(), 0755);
  for (const std::string& program : {std::string("/usr"), std::string("/usr/lib"),
                                     directory / "plain", directory / "nonsense"}) {
    const Ran ran = run_cell(GetParam(), {"--read", directory.path(), "--", program});
    EXPECT_EQ(ran.exit_code, 126) << program;
    EXPECT_EQ(ran.out, "") << program;
    EXPECT_THAT(ran.err, AllOf(HasSubstr(program), HasSubstr("cannot be executed"))) << program;
  }
  write_file(directory / "program", "#!/bin/sh\necho ran\n", GetParam(), 0755);
  EXPECT_EQ(of({directory / "program"}, {"--read", directory.path()}), 0) << "the twin";
}

TEST_P(ExitCode, Is127ForWhatIsNotThere) {
  TempDir directory(GetParam());
  write_file(directory / "orphan", "#!/no/such/interpreter\n", GetParam(), 0755);
  for (const std::string& program : {std::string("no-such-command"), std::string("/no/such/file"),
                                     std::string("./no-such-file"), directory / "orphan"}) {
    const Ran ran = run_cell(GetParam(), {"--read", directory.path(), "--", program});
    EXPECT_EQ(ran.exit_code, 127) << program;
    EXPECT_THAT(ran.err, AllOf(HasSubstr(program), HasSubstr("was not found"))) << program;
  }
}

TEST_P(ExitCode, TellsACommandThatFailedToStartFromOneThatSaidThatCode) {
  const CellResult missing(run_cell(GetParam(), {"--json", "--", "no-such-command"}));
  EXPECT_EQ(missing.exit_code, 127);
  EXPECT_EQ(missing.json.at("exit_code"), 127);
  EXPECT_THAT(missing.text("message"), HasSubstr("was not found"));
  const CellResult own(run_cell(GetParam(), {"--json", "--", "sh", "-c", "exit 127"}));
  EXPECT_EQ(own.exit_code, 127);
  EXPECT_EQ(own.text("message"), "");
}

TEST_P(ExitCode, Is137AtALimitWithTheReasonOnStandardError) {
  const Ran cpu = run_cell(
      GetParam(), {"--cpu", "200ms", "--timeout", "100s", "--", "sh", "-c", "while :; do :; done"});
  EXPECT_EQ(cpu.exit_code, 137);
  EXPECT_THAT(cpu.err, AllOf(HasSubstr("sallyport: killed: it used more than 200ms of CPU time"),
                             HasSubstr("hint: raise --cpu")));
  const Ran output = run_cell(GetParam(), {"--max-output-hard", "10kB", "--", "yes"});
  EXPECT_EQ(output.exit_code, 137);
  EXPECT_THAT(output.err, HasSubstr("sallyport: killed: it wrote more than 10kB of output"));
}

TEST_P(ExitCode, Is130WhenTheCallerEndsItAndThenNothingIsLeft) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    const std::string word = unique_word();
    LiveProcess cell = start_cell(
        GetParam(),
        {"--timeout", "100s", "--", "sh", "-c",
         "trap '' INT TERM HUP QUIT; setsid sh -c 'echo on; sleep 99' " + word + "; sleep 99"});
    ASSERT_TRUE(cell.says("on")) << number;
    cell.signal(number);
    EXPECT_EQ(cell.wait(), 130) << number;
    EXPECT_THAT(processes_with(word), IsEmpty()) << number;
  }
}

// The terminal sends it to every process of its foreground group; the cell is not among them.
TEST_P(ExitCode, Is130AfterControlC) {
  const std::string word = unique_word();
  const Fd terminal(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  ASSERT_TRUE(terminal && ::grantpt(terminal.get()) == 0 && ::unlockpt(terminal.get()) == 0);
  const Fd theirs(::ioctl(terminal.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
  ASSERT_TRUE(theirs);
  LiveProcess cell = start_cell(
      GetParam(), {"--timeout", "100s", "--", "sh", "-c", "sleep 99; : " + word}, theirs.get());
  ASSERT_TRUE(eventually([&] { return processes_with(word).size() == 2; }));
  ASSERT_EQ(::write(terminal.get(), "\x03", 1), 1);
  EXPECT_EQ(cell.wait(), 130);
  EXPECT_THAT(processes_with(word), IsEmpty());
}

SALLYPORT_FOR_ROOT_AND_USER(ExitCode);

}  // namespace
}  // namespace sallyport::test
