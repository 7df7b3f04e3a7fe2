// `sallyport run --via`: a command in a cell of a service that runs, under its policy.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/live_service.h"

namespace sallyport::test {
namespace {

using testing::HasSubstr;

constexpr const char* kPolicy = R"(
version: 1
roles:
  worker: [execute:code]
  reader: [read:data]
callers:
  will: { role: worker }
  rita: { role: reader }
defaults: { rate: 600/min, limits: { timeout: 60s } }
tools:
  shell:
    use: run_command
    needs: [execute:code]
    commands: [echo, seq, cat, sort, cp, sleep, id, ls, tail]
  listing: { use: run_command, needs: [read:data], commands: [ls] }
  other_listing: { use: run_command, needs: [read:data], commands: [ls] }
)";

class RunVia : public CellTest {
 protected:
  RunVia() : service(kPolicy, GetParam()), key(service.key("will")) {}

  std::vector<std::string> words(std::vector<std::string> more) const {
    more.insert(more.begin(), {sallyport_path(), "run", "--via", service.unix_socket()});
    return more;
  }
  Ran run_via(std::vector<std::string> more, const std::string& with, const std::string& in = "") {
    RunOptions options{.as = GetParam(), .cwd = service.directory().path()};
    options.input = in;
    if (!with.empty()) options.environment = {"SALLYPORT_KEY=" + with};
    return run(words(std::move(more)), options);
  }
  Ran run_via(std::vector<std::string> more) { return run_via(std::move(more), key); }

  LiveService service;
  std::string key;
};
SALLYPORT_FOR_ROOT_AND_USER(RunVia);

TEST_P(RunVia, IsAsIfItWereRunHere) {
  const Ran ran = run_via({"--", "echo", "two words", "$HOME", "it's", ""});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.out, "two words $HOME it's \n");
  const Ran missing = run_via({"ls", "nothing"});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_EQ(missing.out, "");
  EXPECT_THAT(missing.err, HasSubstr("No such file"));
}

TEST_P(RunVia, TheServiceHasRecordedIt) {
  EXPECT_EQ(run_via({"seq", "2"}).out, "1\n2\n");
  const Ran records = service.command({"audit", "search", "--tool", "shell"});
  EXPECT_THAT(records.out, HasSubstr("will"));
}

TEST_P(RunVia, FilesAndInputGoAndComeBack) {
  write_file(service.directory() / "in.txt", "b\na\n", GetParam());
  const Ran ran = run_via({"--in", "in.txt", "--out", "*.out", "cp", "in.txt", "a b.out"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(read_file(service.directory() / "a b.out"), "b\na\n");
  EXPECT_EQ(run_via({"--stdin", "sort"}, key, "2\n1\n").out, "1\n2\n");
  // Never over a file that is there.
  const Ran again = run_via({"--in", "in.txt", "--out", "*.out", "cp", "in.txt", "a b.out"});
  EXPECT_EQ(again.exit_code, 1);
  EXPECT_THAT(again.err, HasSubstr("not_exported"));
}

TEST_P(RunVia, TheGatesDecide) {
  const Ran refused = run_via({"rm", "-rf", "/"});
  EXPECT_EQ(refused.exit_code, 125);
  EXPECT_THAT(refused.err, HasSubstr("rm"));
  const Ran wider = run_via({"--timeout", "1h", "seq", "1"});
  EXPECT_EQ(wider.exit_code, 125);
  EXPECT_THAT(wider.err, HasSubstr("timeout"));
  const Ran denied = run_via({"--tool", "shell", "seq", "1"}, service.key("rita"));
  EXPECT_EQ(denied.exit_code, 125);
  EXPECT_THAT(denied.err, HasSubstr("permission"));
}

TEST_P(RunVia, ATighterLimitHolds) {
  const Ran late = run_via({"--timeout", "300ms", "sleep", "30"});
  EXPECT_EQ(late.exit_code, 124) << late.err;
}

TEST_P(RunVia, NothingOfTheClientEnters) {
  // The path of a file here says nothing there, and the command is nobody of this machine.
  write_file(service.directory() / "mine", "mine", GetParam());
  EXPECT_NE(run_via({"cat", service.directory() / "mine"}).exit_code, 0);
  EXPECT_EQ(run_via({"id", "-u"}).out, "1000\n");
  for (const char* option : {"--read=/etc:/data", "--write=.:/workspace", "--net=example.com",
                             "--env=A=b", "--root=/", "--syscalls=build", "--ahead=cell"}) {
    const Ran ran = run_via({option, "seq", "1"});
    EXPECT_EQ(ran.exit_code, 125) << option;
    EXPECT_EQ(ran.out, "") << option;
    EXPECT_THAT(ran.err, HasSubstr("does not go with --via")) << option;
  }
}

TEST_P(RunVia, TheToolIsTheOnlyOneOrNamed) {
  const std::string rita = service.key("rita");
  const Ran several = run_via({"ls"}, rita);
  EXPECT_EQ(several.exit_code, 125);
  EXPECT_THAT(several.err, HasSubstr("listing, other_listing"));
  EXPECT_EQ(run_via({"--tool", "listing", "ls"}, rita).exit_code, 0);
  const Ran without = run({sallyport_path(), "run", "--tool", "listing", "ls"}, {.as = GetParam()});
  EXPECT_EQ(without.exit_code, 125);
  EXPECT_THAT(without.err, HasSubstr("--via"));
}

TEST_P(RunVia, WithoutAKeyOrAServiceNothingIsRun) {
  EXPECT_THAT(run_via({"seq", "1"}, "").err, HasSubstr("SALLYPORT_KEY"));
  const Ran unknown = run_via({"seq", "1"}, "sp_x_y");
  EXPECT_EQ(unknown.exit_code, 125);
  EXPECT_EQ(unknown.out, "");
  service.end();
  const Ran nobody = run_via({"seq", "1"});
  EXPECT_EQ(nobody.exit_code, 125);
  EXPECT_EQ(nobody.out, "");
}

TEST_P(RunVia, TheResultIsJson) {
  const Ran ran = run_via({"--json", "seq", "2"});
  EXPECT_EQ(ran.json().at("output").as_string(), "1\n2\n");
  EXPECT_EQ(ran.json().at("tool").as_string(), "shell");
  const Ran filed = run_via({"--result-file", "result.json", "seq", "2"});
  EXPECT_EQ(filed.out, "1\n2\n");
  EXPECT_THAT(read_file(service.directory() / "result.json"), HasSubstr(R"("exit_code":0)"));
}

// The tool of a call, by a word of its command line.
std::vector<pid_t> tools_with(const std::string& word) {
  auto found = processes_with(word);
  std::erase_if(found, [](pid_t pid) { return status_of(pid, "Name") != "tail"; });
  return found;
}

TEST_P(RunVia, OutputComesWhileItRunsAndASignalEndsIt) {
  const std::string name = unique_word();
  write_file(service.directory() / name, "begun\n", GetParam());
  auto argv = words({"--in", service.directory() / name, "--", "tail", "-f", name});
  argv.insert(argv.begin(), {"env", "SALLYPORT_KEY=" + key});
  LiveProcess process(argv, GetParam());
  EXPECT_TRUE(process.says("begun\n"));
  EXPECT_EQ(tools_with(name).size(), 1U);
  process.signal(SIGINT);
  EXPECT_EQ(process.wait(), 130);
  EXPECT_TRUE(eventually([&] { return tools_with(name).empty(); }));
}

}  // namespace
}  // namespace sallyport::test
