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
  for (const char* option : {"--write-mode=copy", "--net=example.com", "--env=A=b", "--root=/",
                             "--syscalls=build", "--ahead=cell"}) {
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

// ---- Files of the client's own

constexpr const char* kShowPolicy = R"(
version: 1
roles: { worker: [execute:code] }
callers: { will: { role: worker } }
tools:
  shell:
    use: run_command
    needs: [execute:code]
    commands: [cat, cp, ls, touch]
    files: { client: write }
  reader:
    use: run_command
    needs: [execute:code]
    commands: [cat, ls]
    files: { client: read }
  plain: { use: run_command, needs: [execute:code], commands: [cat, ls] }
)";

// A service of root's and of a user's own, and a client that is an ordinary user.
class RunViaShown : public CellTest {
 protected:
  RunViaShown() : service(kShowPolicy, GetParam()), key(service.key("will")) {
    std::filesystem::create_directory(mine());
    EXPECT_EQ(::chown(mine().c_str(), kUserUid, kUserGid), 0);
    write_file(mine() + "/in", "mine\n", As::user);
    EXPECT_EQ(::chmod((mine() + "/in").c_str(), 0600), 0);
  }
  std::string mine() const { return service.directory() / "mine"; }
  Ran show(std::vector<std::string> more, const std::string& tool = "shell") {
    struct stat socket{};
    EXPECT_EQ(::stat(service.unix_socket().c_str(), &socket), 0);
    more.insert(more.begin(),
                {sallyport_path(), "run", "--via", service.unix_socket(), "--tool", tool});
    return run(more, {.as = As::user,
                      .environment = {"SALLYPORT_KEY=" + key},
                      .cwd = mine(),
                      .groups = {socket.st_gid}});
  }
  LiveService service;
  std::string key;
};
SALLYPORT_FOR_ROOT_AND_USER(RunViaShown);

TEST_P(RunViaShown, ADirectoryIsReadAndWritten) {
  const Ran ran = show({"--write", ".:/workspace/p", "cp", "/workspace/p/in", "/workspace/p/out"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  struct stat made{};
  ASSERT_EQ(::stat((mine() + "/out").c_str(), &made), 0);
  EXPECT_EQ(made.st_uid, kUserUid);
  EXPECT_EQ(made.st_gid, kUserGid);
  EXPECT_EQ(show({"--read", mine(), "cat", mine() + "/in"}).out, "mine\n");
  EXPECT_EQ(show({"--read", "in:/data", "cat", "/data"}).out, "mine\n");
  const Ran refused = show({"--read", mine(), "touch", mine() + "/new"});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_NE(::access((mine() + "/new").c_str(), F_OK), 0);
  // Without them nothing is shown, as ever.
  EXPECT_NE(show({"cat", mine() + "/in"}).exit_code, 0);
}

TEST_P(RunViaShown, IsInTheRecord) {
  EXPECT_EQ(show({"--read", "in:/data", "cat", "/data"}).out, "mine\n");
  const Ran records = service.command({"audit", "search", "--tool", "shell", "--json"});
  EXPECT_THAT(records.out,
              HasSubstr(R"("inside":"/data","mode":"read","path":")" + mine() + R"(/in")"));
  EXPECT_THAT(records.out, HasSubstr(R"("uid":43210)"));
}

TEST_P(RunViaShown, ThePolicySaysWhichTool) {
  EXPECT_EQ(show({"--read", "in:/data", "cat", "/data"}, "reader").out, "mine\n");
  const Ran writes = show({"--write", ".:/data", "ls", "/data"}, "reader");
  EXPECT_EQ(writes.exit_code, 125);
  EXPECT_THAT(writes.err, HasSubstr("to read only"));
  const Ran plain = show({"--read", ".:/data", "ls", "/data"}, "plain");
  EXPECT_EQ(plain.exit_code, 125);
  EXPECT_THAT(plain.err, HasSubstr("lets no caller show it files"));
  const Ran denied = show({"--read", "in:/data", "touch", "/data"}, "reader");
  EXPECT_EQ(denied.exit_code, 125);
}

TEST_P(RunViaShown, MistakesAreSaid) {
  std::filesystem::create_symlink("in", mine() + "/link");
  EXPECT_THAT(show({"--read", "link:/data", "cat", "/data"}).err, HasSubstr("symlink"));
  EXPECT_THAT(show({"--read", "nothing:/data", "cat", "/data"}).err, HasSubstr("No such file"));
  EXPECT_THAT(show({"--read", "in:/usr", "cat", "/usr"}).exit_code, 125);
  const Ran far = run({sallyport_path(), "run", "--via", "http://127.0.0.1:1", "--tool", "shell",
                       "--read", "/etc:/data", "ls"},
                      {.environment = {"SALLYPORT_KEY=" + key}});
  EXPECT_EQ(far.exit_code, 125);
  EXPECT_THAT(far.err, HasSubstr("on this machine only"));
}

TEST_P(RunViaShown, ATicketAloneIsWorthNothing) {
  const Reply reply = service.post(
      "/v1/tools/shell/call",
      R"({"arguments": {"command": "ls /data"}, "client": {"uid": 43210, "ticket": ")" +
          std::string(32, 'a') + R"(", "files": [{"path": "/etc", "inside": "/data"}]}})",
      key);
  EXPECT_EQ(reply.text("status"), "blocked") << reply.body;
  EXPECT_THAT(reply.body, HasSubstr("not there any more"));
}

TEST_P(RunVia, AServiceWithoutSuchAToolHasNoSuchDoor) {
  EXPECT_NE(::access((service.unix_socket() + ".files").c_str(), F_OK), 0);
  const Ran ran = run_via({"--read", "/etc:/data", "ls", "/data"});
  EXPECT_EQ(ran.exit_code, 125);
  EXPECT_THAT(ran.err, HasSubstr("takes no files of its callers"));
}

}  // namespace
}  // namespace sallyport::test
