// `sallyport call`, driven as a user drives it: real policies, real cells, a state directory of its
// own for each test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "support/policy_calls.h"

namespace sallyport::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

using Calls = PolicyCalls;

TEST_P(Calls, KeepTheShopsRolesApart) {
  policy_of_the_repository("examples/shop.yaml");
  struct Row {
    const char *caller, *tool;
    std::vector<std::string> args;
    const char *status, *reason;
  };
  const Row rows[] = {
      {"vera", "list_items", {}, "success", ""},
      {"vera", "get_item", {"id=1"}, "success", ""},
      {"vera", "update_item", {"id=1", "name=sofa"}, "blocked", "permission"},
      {"vera", "delete_item", {"id=123"}, "blocked", "permission"},
      {"edgar", "update_item", {"id=1", "name=sofa"}, "success", ""},
      {"edgar", "delete_item", {"id=123"}, "blocked", "permission"},
      {"ada", "delete_item", {"id=123"}, "success", ""},
      {"ada", "delete_item", {"id=999"}, "blocked", "argument"},
      {"mallory", "list_items", {}, "blocked", "permission"},
      {"vera", "list_item", {}, "blocked", "unknown_tool"},
  };
  for (const Row& row : rows) {
    const auto got = result(row.tool, row.caller, row.args);
    EXPECT_EQ(text(got, "status"), row.status) << row.caller << " " << row.tool;
    EXPECT_EQ(text(got, "reason"), row.reason) << row.caller << " " << row.tool;
    EXPECT_EQ(text(got, "caller"), row.caller);
  }
}

TEST_P(Calls, ReturnDataAndTellHowTheyWereIsolated) {
  policy_of_the_repository("examples/shop.yaml");
  const auto got = result("get_item", "vera", {"--args", R"({"id": 7})"});
  EXPECT_EQ(got.at("data"), boost::json::parse(R"({"id": 7, "name": "lamp"})"));
  EXPECT_EQ(got.at("isolation").at("tier"), "process");
  EXPECT_TRUE(got.at("isolation").at("layers").as_object().contains("seccomp"));
  EXPECT_EQ(got.at("rate_remaining"), 4);
  EXPECT_EQ(text(got, "policy").size(), 64U);
}

TEST_P(Calls, AreCountedAcrossProcesses) {
  policy_of_the_repository("examples/shop.yaml");
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(call("list_items", "vera").exit_code, 0);
  const Ran sixth = call("list_items", "vera");
  EXPECT_EQ(sixth.exit_code, 125);
  const auto got = sixth.json();
  EXPECT_EQ(text(got, "reason"), "rate_limit");
  EXPECT_EQ(text(got, "rule"), "defaults.rate");
  EXPECT_GT(got.at("retry_after_ms").as_int64(), 0);
}

TEST_P(Calls, AtOnceNeverAddUpToMoreThanTheRate) {
  policy_of_the_repository("examples/shop.yaml");
  std::atomic<int> passed = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 10; ++i)
    threads.emplace_back([&] {
      if (call("list_items", "vera").exit_code == 0) ++passed;
    });
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(passed, 5);
}

TEST_P(Calls, AreRecordedBeforeAndAfter) {
  policy_of_the_repository("examples/shop.yaml");
  const auto got = result("get_item", "vera", {"id=7"});
  (void)result("delete_item", "vera", {"id=123"});
  const auto lines = records();
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(text(lines[0], "record"), "intent");
  EXPECT_EQ(text(lines[0], "call_id"), text(got, "call_id"));
  EXPECT_EQ(text(lines[0], "tool"), "get_item");
  EXPECT_EQ(text(lines[1], "record"), "outcome");
  EXPECT_EQ(text(lines[1], "call_id"), text(got, "call_id"));
  EXPECT_EQ(text(lines[1], "status"), "success");
  EXPECT_EQ(text(lines[2], "record"), "outcome");
  EXPECT_EQ(text(lines[2], "reason"), "permission");
  EXPECT_EQ(text(lines[2], "rule"), "tools.delete_item.needs");
}

TEST_P(Calls, ThatCannotBeRecordedDoNotRun) {
  policy(
      "version: 1\nroles: { r: [x] }\ncallers: { a: { role: r } }\ntools:\n"
      "  touch: { run: [touch, /data/ran], needs: [x], files: { write: [" +
      directory_.path() + "/data:/data] } }\n");
  ASSERT_EQ(run({"mkdir", directory_ / "data"}, {.as = GetParam()}).exit_code, 0);
  ASSERT_EQ(call("touch", "a").exit_code, 0);
  ASSERT_EQ(run({"rm", directory_ / "data/ran"}).exit_code, 0);
  // A file in the place of the directory: nothing can be written into it.
  ASSERT_EQ(run({"rm", "-r", directory_ / "state/audit"}).exit_code, 0);
  ASSERT_EQ(run({"touch", directory_ / "state/audit"}).exit_code, 0);
  const Ran refused = call("touch", "a");
  EXPECT_EQ(refused.exit_code, 125);
  EXPECT_NE(run({"test", "-e", directory_ / "data/ran"}).exit_code, 0) << "it ran unrecorded";
}

TEST_P(Calls, GivePathsAsTheToolSeesThem) {
  ASSERT_EQ(run({"mkdir", directory_ / "public"}, {.as = GetParam()}).exit_code, 0);
  write_file(directory_ / "public/a.txt", "hello", GetParam());
  write_file(directory_ / "secret.txt", "SECRET", GetParam());
  const std::string grant = directory_ / "public";
  policy("version: 1\nroles: { r: [x] }\ncallers: { a: { role: r } }\ntools:\n  show:\n" +
         ("    run: [head, -v, \"{file}\", \"/data/{file}\"]\n    needs: [x]\n"
          "    files: { read: [\"" +
          grant + ":/data\"] }\n    args: { file: { type: path, below: " + grant + " } }\n"));
  for (const char* path : {"file=a.txt", "file=/data/a.txt"}) {
    const auto got = result("show", "a", {path});
    EXPECT_EQ(text(got, "output"), "==> /data/a.txt <==\nhello\n==> /data/a.txt <==\nhello")
        << boost::json::serialize(got);
  }
  for (const std::string& path :
       {std::string("../secret.txt"), std::string("/data/../secret.txt"),
        std::string("/etc/passwd"), std::string("gone.txt"), grant + "/a.txt"}) {
    const auto got = result("show", "a", {"file=" + path});
    EXPECT_EQ(text(got, "reason"), "argument") << path;
    EXPECT_THAT(text(got, "hint"), testing::Not(HasSubstr(directory_.path())));
    if (!path.starts_with(grant))
      EXPECT_THAT(boost::json::serialize(got), testing::Not(HasSubstr(directory_.path())));
  }
}

// One object on standard output, whatever the matter is: who reads JSON does not read stderr.
TEST_P(Calls, AndOtherCommandsAnswerProblemsInJsonWhereJsonIsAsked) {
  const std::string state = directory_ / "state";
  const auto object_of = [&](std::vector<std::string> words) {
    words.insert(words.begin(), sallyport_path());
    const Ran ran = run(words, {.as = GetParam(), .cwd = directory_.path()});
    EXPECT_NE(ran.exit_code, 0) << words[1];
    EXPECT_EQ(ran.err, "") << words[1];
    return ran.json();
  };
  // A policy that does not load.
  policy("version: 1\ntolls: {}\n");
  auto got = object_of({"call", "t", "--policy", policy_, "--as", "a", "--state", state, "--json"});
  EXPECT_EQ(text(got, "status"), "blocked");
  EXPECT_EQ(text(got, "reason"), "unavailable");
  EXPECT_EQ(text(got.at("problems").at(0).as_object(), "rule"), "tolls");
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"tools", "list", "--policy", policy_, "--format", "json"},
           {"tools", "list", "--policy", policy_, "--format", "mcp"},
           {"policy", "explain", "t", "--policy", policy_, "--json"},
           {"policy", "diff", policy_, policy_, "--json"},
           {"policy", "test", "--json", policy_},
           {"policy", "check", "--json", policy_}}) {
    got = object_of(words);
    EXPECT_EQ(got.at("ok"), false) << words[1];
    EXPECT_EQ(text(got.at("problems").at(0).as_object(), "rule"), "tolls") << words[1];
  }
  // A good one, with a ledger that is damaged, and then with a directory that others can write to.
  policy(
      "version: 1\nroles: { r: [x] }\ncallers: { a: { role: r } }\n"
      "tools: { hello: { run: [echo, hello], needs: [x] } }\n");
  ASSERT_EQ(call("hello", "a").exit_code, 0);
  got = object_of({"tools", "list", "--policy", policy_, "--as", "nobody", "--format", "json"});
  EXPECT_EQ(text(got, "reason"), "argument");
  write_file(state + "/ledger", "rubbish", GetParam());
  for (const bool foreign : {false, true}) {
    if (foreign) ASSERT_EQ(run({"chmod", "777", state}).exit_code, 0);
    got =
        object_of({"call", "hello", "--policy", policy_, "--as", "a", "--state", state, "--json"});
    EXPECT_EQ(text(got, "status"), "blocked") << foreign;
    EXPECT_EQ(text(got, "reason"), "unavailable") << foreign;
    EXPECT_NE(text(got, "message"), "") << foreign;
    got = object_of({"lockout", "list", "--state", state, "--json"});
    EXPECT_EQ(text(got, "reason"), "unavailable") << foreign;
    EXPECT_EQ(got.at("ok"), false) << foreign;
  }
}

TEST_P(Calls, TakeTheirArgumentsFromAFile) {
  policy(
      "version: 1\nroles: { r: [x] }\ncallers: { a: { role: r } }\n"
      "tools: { say: { run: [echo, \"{text}\"], needs: [x], args: { text: { type: string } } } "
      "}\n");
  write_file(directory_ / "args.json", R"({"text": "from a file"})", GetParam());
  EXPECT_EQ(text(result("say", "a", {"--args", "@args.json"}), "output"), "from a file\n");
  const auto missing = result("say", "a", {"--args", "@gone.json"});
  EXPECT_EQ(text(missing, "reason"), "argument");
  EXPECT_THAT(text(missing, "message"), HasSubstr("gone.json"));
}

TEST_P(Calls, SayOnceWhenToTryAgain) {
  policy(
      "version: 1\nroles: { r: [x] }\ncallers: { a: { role: r } }\n"
      "tools: { hello: { run: [echo, hello], needs: [x], rate: 1/h } }\n");
  ASSERT_EQ(call("hello", "a").exit_code, 0);
  const Ran ran = run({sallyport_path(), "call", "hello", "--policy", policy_, "--as", "a",
                       "--state", directory_ / "state"},
                      {.as = GetParam()});
  EXPECT_EQ(ran.exit_code, 125);
  const std::size_t first = ran.err.find("try again in 60 min");
  ASSERT_NE(first, std::string::npos) << ran.err;
  EXPECT_EQ(ran.err.find("try again", first + 1), std::string::npos) << ran.err;
}

// Whatever configuration a caller's files look like to git, these settings outrank it.
TEST_P(Calls, OfGitAreHeldToSafeSettings) {
  policy(
      "version: 1\nroles: { r: [x] }\ncallers: { a: { role: r } }\n"
      "tools: { git: { use: run_command, needs: [x], commands: [git] } }\n");
  // A bare repository made of plain files, whose configuration would start a program.
  write_file(directory_ / "HEAD", "ref: refs/heads/main\n", GetParam());
  write_file(directory_ / "config",
             "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"
             "\tfsmonitor = touch /workspace/owned\n",
             GetParam());
  const auto got = result("git", "a",
                          {"--in", "HEAD:HEAD", "--in", "config:config", "--in", "HEAD:objects/x",
                           "--in", "HEAD:refs/x", "--out", "owned", "command=git status"});
  EXPECT_THAT(text(got, "error"), HasSubstr("cannot use bare repository"))
      << boost::json::serialize(got);
}

TEST_P(Calls, LockOutAndAreLetInAgain) {
  policy(
      "version: 1\nroles: { r: [x] }\ncallers: { a: { role: r } }\n"
      "lockout: { after: 2 denials, within: 5min, for: 15min, by: [caller] }\n"
      "tools: { hello: { run: [echo, hello], needs: [x] } }\n");
  EXPECT_EQ(text(result("no_such", "a"), "reason"), "unknown_tool");
  EXPECT_EQ(text(result("no_such", "a"), "reason"), "unknown_tool");
  EXPECT_EQ(text(result("hello", "a"), "reason"), "locked_out");
  EXPECT_THAT(lockout({"list"}).out, HasSubstr("a"));
  EXPECT_EQ(lockout({"lift", "a"}).exit_code, 0);
  EXPECT_EQ(text(result("hello", "a"), "status"), "success");
}

TEST_P(Calls, PassArgumentsAsWholeWordsAndNeverToAShell) {
  policy(R"(
version: 1
roles: { r: [x] }
callers: { a: { role: r } }
defaults: { rate: 1000/min }
tools:
  say: { run: [printf, "<%s>", "{text}"], needs: [x], args: { text: { type: string } } }
  cat: { run: [cat], needs: [x], input: json, args: { text: { type: string } } }
)");
  for (const std::string value : {"a b", "$(id)", "`id`", "; id", "{text}", "'\"", "%s", "*"}) {
    EXPECT_EQ(text(result("say", "a", {"text=" + value}), "output"), "<" + value + ">");
    const auto echoed = result("cat", "a", {"text=" + value});
    EXPECT_EQ(boost::json::parse(text(echoed, "output")).at("text"), boost::json::value(value));
  }
  const auto dash = result("say", "a", {"text=--version"});
  EXPECT_EQ(text(dash, "reason"), "argument");
}

TEST_P(Calls, RefuseWhatThisVersionDoesNotHave) {
  const std::string head =
      "version: 1\nroles: { r: [x], lead: [x] }\n"
      "callers: { a: { role: r }, l: { role: lead }, m: { role: lead } }\ntools:\n  t:\n"
      "    needs: [x]\n";
  const std::string command = "    run: [echo, hello]\n";
  struct Row {
    std::string yaml;
    const char* rule;
  };
  const Row rows[] = {
      {command + "    tier: vm\n", "tools.t.tier"},
      {command + "    approval: { by: [lead] }\n", "tools.t.approval"},
      {command + "    dangerously_share_network: true\n", "tools.t.dangerously_share_network"},
  };
  for (const auto& [yaml, rule] : rows) {
    policy(head + yaml);
    const auto got = result("t", "a");
    EXPECT_EQ(text(got, "reason"), "unavailable") << yaml;
    EXPECT_EQ(text(got, "rule"), rule) << yaml;
    EXPECT_EQ(text(got, "output"), "");
  }
  policy(head + command);
  EXPECT_EQ(text(result("t", "a"), "output"), "hello\n") << "the twin: without the feature it runs";
  EXPECT_EQ(text(result("t", "a", {"--idempotency-key", "k"}), "reason"), "unavailable");
}

TEST_P(Calls, TightenTheirLimitsAndNeverWiden) {
  policy(
      "version: 1\nroles: { r: [x] }\ncallers: { a: { role: r } }\ntools:\n"
      "  nap: { run: [sleep, \"5\"], needs: [x], limits: { timeout: 2s } }\n");
  const Ran cut = call("nap", "a", {"--limit", "timeout=100ms"});
  EXPECT_EQ(cut.exit_code, 124);
  EXPECT_EQ(text(cut.json(), "reason"), "timeout");
  EXPECT_EQ(text(cut.json(), "rule"), "tools.nap.limits.timeout");
  EXPECT_THAT(text(cut.json(), "hint"), testing::Not(HasSubstr("--timeout")));
  const auto wider = result("nap", "a", {"--limit", "timeout=1h"});
  EXPECT_EQ(text(wider, "reason"), "argument");
  EXPECT_THAT(text(wider, "message"), HasSubstr("timeout"));
  EXPECT_EQ(text(result("nap", "a", {"--limit", "tiemout=1s"}), "reason"), "argument");
}

TEST_P(Calls, RunDryWithoutRunning) {
  policy(
      "version: 1\nroles: { r: [x] }\ncallers: { a: { role: r } }\ntools:\n"
      "  t: { run: [echo, hello], needs: [x], rate: 1/h }\n");
  for (int i = 0; i < 3; ++i) {
    const auto dry = result("t", "a", {"--dry-run"});
    EXPECT_EQ(text(dry, "status"), "success");
    EXPECT_EQ(text(dry, "output"), "");
  }
  EXPECT_EQ(text(result("t", "a"), "output"), "hello\n");
  const auto lines = records();
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_EQ(lines[0].at("dry_run"), true);
}

TEST_P(Calls, HoldDataToItsPromise) {
  policy(R"(
version: 1
roles: { r: [x] }
callers: { a: { role: r } }
tools:
  broken: { run: [echo, "{{\"a\": 1, \"a\": 2}}"], needs: [x], result: json }
  large:  { run: [seq, "-s,", "-f", "\"%.0f\"", "1", "20000"], needs: [x], result: json }
  schema: { run: [echo, "[]"], needs: [x], result: json, output: { schema: { type: object } } }
)");
  const auto broken = result("broken", "a");
  EXPECT_EQ(text(broken, "status"), "error");
  EXPECT_EQ(text(broken, "reason"), "output_schema");
  EXPECT_FALSE(broken.contains("data"));
  const auto large = result("large", "a");
  EXPECT_EQ(text(large, "reason"), "result_too_large");
  EXPECT_GT(large.at("size_bytes").to_number<int>(), 50'000);
  EXPECT_EQ(large.at("limit_bytes").to_number<int>(), 50'000);
  EXPECT_EQ(text(large, "output"), "");
  EXPECT_EQ(text(result("schema", "a"), "reason"), "output_schema");
}

TEST_P(Calls, BringFilesInAndOut) {
  policy(
      "version: 1\nroles: { r: [x] }\ncallers: { a: { role: r } }\ntools:\n"
      "  upper: { run: [sh, -c, 'tr a-z A-Z < in.txt > out.txt'], needs: [x] }\n");
  write_file(directory_ / "notes.txt", "some words", GetParam());
  const auto got = result("upper", "a", {"--in", "notes.txt:in.txt", "--out", "*.txt"});
  EXPECT_EQ(text(got, "status"), "success");
  std::ifstream out(directory_ / "out.txt");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(out), {}), "SOME WORDS");
}

TEST_P(Calls, PutOnlyFilesThatWereAskedForAndNeverOverOthers) {
  policy(
      "version: 1\nroles: { r: [x] }\ncallers: { a: { role: r } }\ntools:\n"
      "  make: { run: [sh, -c, 'echo theirs > mine.txt; echo new > new.txt'], needs: [x], "
      "collect: ['*.txt'] }\n");
  write_file(directory_ / "mine.txt", "mine", GetParam());
  const auto silent = result("make", "a");
  EXPECT_EQ(silent.at("artifacts").at(0).at("content"), "theirs\n") << "it is in the result";
  EXPECT_EQ(read_file(directory_ / "mine.txt"), "mine");
  EXPECT_NE(run({"test", "-e", directory_ / "new.txt"}).exit_code, 0);
  const Ran asked = call("make", "a", {"--out", "*.txt"});
  EXPECT_EQ(asked.exit_code, 1);
  EXPECT_EQ(read_file(directory_ / "mine.txt"), "mine");
  EXPECT_EQ(read_file(directory_ / "new.txt"), "new\n");
}

TEST_P(Calls, SayWhatIsWrongWithTheCommandLine) {
  policy_of_the_repository("examples/shop.yaml");
  const std::pair<std::vector<std::string>, const char*> rows[] = {
      {{}, "no tool"},
      {{"t"}, "--policy"},
      {{"t", "--policy", "p"}, "--as"},
      {{"t", "--policy", directory_ / "none.yaml", "--as", "a"}, "none.yaml"},
      {{"t", "--policy", policy_, "--as", "vera", "--args", "{"}, "--args"},
      {{"t", "--policy", policy_, "--as", "vera", "--args", "[]"}, "not a JSON object"},
      {{"t", "--policy", policy_, "--as", "vera", "--args", R"({"a":1,"a":2})"}, "--args"},
      {{"t", "--policy", policy_, "--as", "vera", "--args", "{}", "a=1"}, "both"},
      {{"t", "--policy", policy_, "--as", "vera", "a=1", "a=2"}, "twice"},
      {{"t", "--policy", policy_, "--as", "vera", "word"}, "key=value"},
      {{"t", "--polcy", policy_}, "--policy"},
  };
  for (const auto& [words, message] : rows) {
    std::vector<std::string> argv = {sallyport_path(), "call"};
    argv.insert(argv.end(), words.begin(), words.end());
    argv.insert(argv.begin() + 2, {"--state", directory_ / "state"});
    const Ran ran = run(argv, {.as = GetParam()});
    EXPECT_EQ(ran.exit_code, 125) << message;
    EXPECT_THAT(ran.err, HasSubstr(message));
  }
}

TEST_P(Calls, RefuseAStateDirectoryOfSomebodyElse) {
  policy_of_the_repository("examples/shop.yaml");
  ASSERT_EQ(run({"mkdir", "-m", "0777", directory_ / "open"}, {.as = GetParam()}).exit_code, 0);
  ASSERT_EQ(run({"chmod", "0777", directory_ / "open"}).exit_code, 0);
  const Ran ran = run({sallyport_path(), "call", "list_items", "--policy", policy_, "--as", "vera",
                       "--state", directory_ / "open"},
                      {.as = GetParam()});
  EXPECT_EQ(ran.exit_code, 125);
  EXPECT_THAT(ran.err, StartsWith("sallyport: "));
}

SALLYPORT_FOR_ROOT_AND_USER(Calls);

}  // namespace
}  // namespace sallyport::test
