// Tools in their cells, through `sallyport call`: command tools, scripts and the file tools, and
// what a hostile caller tries with them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "support/cell_runner.h"

namespace sallyport::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

namespace json = boost::json;

class Tools : public CellTest {
 protected:
  Tools() : directory_(GetParam()), host_(GetParam()) {
    make_directory(host_ / "data");
    make_directory(host_ / "out");
    file("secret", "SECRET");
    file("data/a.csv", "1,2\n");
    file("data/b.txt", "text");
    file("out/old.csv", "old");
  }

  static void make_directory(const std::string& path) {
    std::filesystem::create_directory(path);
    if (GetParam() == As::user) EXPECT_EQ(::chown(path.c_str(), kUserUid, kUserGid), 0);
  }
  void file(const std::string& name, const std::string& content) {
    write_file(host_ / name, content, GetParam());
  }

  // Tools for one caller, `agent`, who may do everything; HOST is the directory of the test.
  void tools(std::string yaml) {
    for (std::size_t at = 0; (at = yaml.find("HOST")) != std::string::npos;)
      yaml.replace(at, 4, host_.path());
    write_file(directory_ / "policy.yaml",
               "version: 1\n"
               "roles: { worker: [work] }\n"
               "callers: { agent: { role: worker } }\n"
               "defaults: { rate: 1000/min, output: { redact: [] } }\n" +
                   yaml,
               GetParam());
  }

  json::object call(const std::string& tool, const json::object& arguments,
                    std::vector<std::string> more = {}, const std::string& input = "") {
    std::vector<std::string> argv = {
        sallyport_path(),           "call",   tool,     "--policy",
        directory_ / "policy.yaml", "--as",   "agent",  "--state",
        directory_ / "state",       "--json", "--args", json::serialize(arguments)};
    argv.insert(argv.end(), more.begin(), more.end());
    return run(argv, {.as = GetParam(), .input = input, .cwd = directory_.path()}).json();
  }

  TempDir directory_;  // of the caller
  TempDir host_;       // what the policy is about
};

std::string text(const json::object& object, const char* key) {
  const auto* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->as_string()) : "";
}

#define EXPECT_STATUS(result, expected) \
  EXPECT_EQ(text(result, "status"), expected) << json::serialize(result)

constexpr const char* kFileTools = R"(
tools:
  read:
    use: read_file
    needs: [work]
    files: { read: ["HOST/data/**/*.csv:/data", "HOST/out:/out"] }
  list:
    use: list_files
    needs: [work]
    files: { read: ["HOST/data/**/*.csv:/data", "HOST/out:/out"] }
  write:
    use: write_file
    needs: [work]
    limits: { file_size: 100kB }
    files: { read: ["HOST/data:/data"], write: ["HOST/out/**/*.csv:/out"] }
  edit:
    use: edit_file
    needs: [work]
    limits: { file_size: 100kB }
    files: { read: ["HOST/data:/data"], write: ["HOST/out:/out"] }
  search:
    use: search_files
    needs: [work]
    files: { read: ["HOST/data/**/*.csv:/data", "HOST/out:/out"] }
)";

// ---- Commands

TEST_P(Tools, HandACommandItsArgumentsAsWordsAndNothingOfTheCallersEnvironment) {
  tools(R"yaml(
tools:
  show:
    run: [/usr/bin/python3, -c, "import sys, os; print(sys.argv[1:], sorted(os.environ))", "{a}", "x={b}", "{c}"]
    needs: [work]
    environment: { TZ: UTC }
    args: { a: { type: string, multiline: true }, b: { type: string }, c: { type: integer, optional: true } }
)yaml");
  const auto result = call("show", {{"a", "$(id) {b}\n;"}, {"b", "{a} --x"}});
  EXPECT_STATUS(result, "success");
  EXPECT_EQ(text(result, "output"),
            "['$(id) {b}\\n;', 'x={a} --x'] ['HOME', 'LANG', 'PATH', 'TZ']\n");
  for (const char* value : {"-rf", "--help", "-"})
    EXPECT_EQ(text(call("show", {{"a", value}, {"b", ""}}), "reason"), "argument") << value;
}

TEST_P(Tools, NameTheRuleOfALayerThatIsNotThere) {
  tools(R"(
tools:
  bounded: { run: [echo, ran], needs: [work], require: ["landlock:999"] }
  usual: { run: [echo, ran], needs: [work], require: [seccomp] }
)");
  const auto result = call("bounded", {});
  EXPECT_EQ(text(result, "reason"), "cannot_enforce") << json::serialize(result);
  EXPECT_EQ(text(result, "rule"), "tools.bounded.require");
  EXPECT_EQ(text(call("usual", {}), "output"), "ran\n") << "the twin";
}

TEST_P(Tools, PassArgumentsOrInputOnStandardInput) {
  tools(R"(
tools:
  json: { run: [/usr/bin/cat], input: json, result: json, needs: [work], args: { b: { type: integer }, a: { type: string, multiline: true } } }
  text: { run: [/usr/bin/cat], needs: [work] }
)");
  const auto result = call("json", {{"b", 1}, {"a", "\"\n"}});
  EXPECT_STATUS(result, "success");
  EXPECT_EQ(json::serialize(result.at("data")), R"({"a":"\"\n","b":1})");
  EXPECT_EQ(text(call("text", {}, {"--stdin"}, "hello"), "output"), "hello");
  EXPECT_EQ(text(call("text", {}), "output"), "");
  EXPECT_EQ(text(call("json", {{"b", 1}, {"a", ""}}, {"--stdin"}, "{}"), "reason"), "argument");
}

TEST_P(Tools, BringFilesIntoTheScratchAndBackAndNoLinks) {
  tools(R"(
tools:
  make:
    run: [/bin/sh, -c, "cp in/x.txt out.txt; ln -s /etc/passwd link.txt; ln out.txt hard.txt; mkfifo pipe.txt; echo plain >plain.txt"]
    needs: [work]
    collect: [plain.txt]
)");
  write_file(directory_ / "x", "content", GetParam());
  const auto result =
      call("make", {}, {"--in", (directory_ / "x") + ":in/x.txt", "--out", "*.txt"});
  EXPECT_STATUS(result, "success");
  EXPECT_EQ(read_file(directory_ / "plain.txt"), "plain\n");
  for (const char* name : {"link.txt", "hard.txt", "pipe.txt", "out.txt"})
    EXPECT_FALSE(std::filesystem::exists(std::filesystem::symlink_status(directory_ / name)))
        << name;
  EXPECT_THAT(json::serialize(result.at("findings")),
              AllOf(HasSubstr("symbolic link"), HasSubstr("FIFO"), HasSubstr("hard link")));
}

TEST_P(Tools, RefuseAGrantThatShowsWhatTheCeilingDenies) {
  tools(R"(
ceiling: { files: { deny: ["/**/.ssh/**"] } }
tools:
  cat: { run: [/usr/bin/cat, /host/data/.ssh/key], needs: [work], files: { read: ["HOST:/host"] } }
)");
  EXPECT_THAT(text(call("cat", {}), "error"), HasSubstr("No such file"));
  make_directory(host_ / "data/.ssh");
  file("data/.ssh/key", "SECRET");
  const auto result = call("cat", {});
  EXPECT_STATUS(result, "blocked");
  EXPECT_EQ(text(result, "reason"), "cannot_enforce");
  EXPECT_EQ(text(result, "rule"), "ceiling.files.deny");
  // The twin: without the ceiling the tool reads it.
  tools(R"(
tools:
  cat: { run: [/usr/bin/cat, /host/data/.ssh/key], needs: [work], files: { read: ["HOST:/host"] } }
)");
  EXPECT_EQ(text(call("cat", {}), "output"), "SECRET");
}

// ---- Scripts

TEST_P(Tools, RunScriptsOfTheCaller) {
  tools(R"(
tools:
  python: { use: run_python, needs: [work], limits: { memory: 512MiB, timeout: 60s } }
  node: { use: run_javascript, needs: [work], limits: { memory: 1GiB, timeout: 60s } }
  shell: { use: run_shell, needs: [work] }
)");
  const auto python =
      call("python", {{"code", "import sys, helper\nprint(helper.x, sys.stdin.read(), __file__)"}},
           {"--stdin", "--in",
            [&] {
              write_file(directory_ / "helper.py", "x = 6 * 7", GetParam());
              return directory_ / "helper.py";
            }()},
           "input");
  EXPECT_STATUS(python, "success");
  EXPECT_EQ(text(python, "output"), "42 input /workspace/main.py\n");
  const auto node =
      call("node", {{"code", "console.log(require('path').basename(__filename), 6 * 7)"}});
  EXPECT_STATUS(node, "success");
  EXPECT_EQ(text(node, "output"), "main.js 42\n");
  const auto shell =
      call("shell", {{"code", "x=(6 7); [[ ${x[0]} -eq 6 ]] && echo $((x[0] * x[1]))\nexit 3"}});
  EXPECT_STATUS(shell, "error");
  EXPECT_EQ(text(shell, "output"), "42\n");
  EXPECT_EQ(shell.at("exit_code"), 3);
}

TEST_P(Tools, ShowScriptsNothingOfTheHost) {
  tools(R"(
tools:
  shell: { use: run_shell, needs: [work], files: { read: ["HOST/data:/data"] } }
)");
  const std::string attack = "cat '" + (host_ / "secret") + "' /data/../secret /proc/1/root" +
                             (host_ / "secret") +
                             " /etc/shadow /root/.bashrc; ls /home /root /data";
  const auto result = call("shell", {{"code", attack}});
  EXPECT_THAT(text(result, "output"), AllOf(HasSubstr("a.csv"), Not(HasSubstr("SECRET"))));
  EXPECT_THAT(text(result, "error"), HasSubstr("No such file"));
  // The twin: the same words outside.
  EXPECT_THAT(run({"/bin/sh", "-c", "cat '" + (host_ / "secret") + "'"}, {.as = GetParam()}).out,
              HasSubstr("SECRET"));
}

TEST_P(Tools, KeepTheNamesOfScriptsAndHiddenNamesToThemselves) {
  tools(R"(
tools:
  python: { use: run_python, needs: [work] }
  git: { use: run_command, needs: [work], commands: ["git status"] }
)");
  write_file(directory_ / "x", "print('other')", GetParam());
  const auto in = [&](const std::string& name) { return (directory_ / "x") + ":" + name; };
  const auto result = call("python", {{"code", "print('mine')"}}, {"--in", in("main.py")});
  EXPECT_STATUS(result, "blocked");
  EXPECT_EQ(text(result, "reason"), "argument");
  EXPECT_EQ(text(call("git", {{"command", "git status"}}, {"--in", in(".gitconfig")}), "reason"),
            "argument");
}

TEST_P(Tools, RunOneCommandThatTheRulesAllow) {
  tools(R"(
tools:
  command: { use: run_command, needs: [work], commands: [cat, "git --version"], files: { read: ["HOST/data:/data"] } }
)");
  EXPECT_EQ(text(call("command", {{"command", "cat /data/a.csv"}}), "output"), "1,2\n");
  for (const char* words : {"cat /data/a.csv; id", "id", "cat $(id)", "/bin/cat /data/a.csv",
                            "env cat /data/a.csv", "git status", "sh -c id"}) {
    const auto result = call("command", {{"command", words}});
    EXPECT_STATUS(result, "blocked") << words;
    EXPECT_EQ(text(result, "reason"), "argument") << words;
  }
}

// ---- Files

TEST_P(Tools, ReadWriteAndListFiles) {
  tools(kFileTools);
  auto result = call("read", {{"path", "/data/a.csv"}});
  EXPECT_STATUS(result, "success");
  EXPECT_EQ(text(result.at("data").as_object(), "content"), "1,2\n");
  EXPECT_EQ(text(call("read", {{"path", "a.csv"}}).at("data").as_object(), "content"), "1,2\n");

  result = call("write", {{"path", "/out/new.csv"}, {"content", "x\ny"}});
  EXPECT_STATUS(result, "success");
  EXPECT_EQ(read_file(host_ / "out/new.csv"), "x\ny");
  struct stat status{};
  ASSERT_EQ(::stat((host_ / "out/new.csv").c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, GetParam() == As::user ? kUserUid : 0U);
  EXPECT_EQ(status.st_mode & 07777, 0644U);
  EXPECT_STATUS(call("write", {{"path", "old.csv"}, {"content", "+"}, {"append", true}}),
                "success");
  EXPECT_EQ(read_file(host_ / "out/old.csv"), "old+");

  // For people: one line of JSON, and the prompt in the next.
  const Ran shown = run({sallyport_path(), "call", "read", "--policy", directory_ / "policy.yaml",
                         "--as", "agent", "--state", directory_ / "state", "path=/data/a.csv"},
                        {.as = GetParam()});
  EXPECT_THAT(shown.out, AllOf(HasSubstr("1,2"), testing::EndsWith("}\n")));
  // A tool never sees where the host has its directories, nor does its caller.
  EXPECT_THAT(text(call("write", {{"path", "gone/x.csv"}, {"content", "x"}}), "error"),
              AllOf(HasSubstr("there is no directory '/out/gone'"), Not(HasSubstr(host_.path()))));

  result = call("list", {{"path", "/data"}});
  EXPECT_STATUS(result, "success");
  EXPECT_EQ(json::serialize(result.at("data").at("entries")),
            R"([{"name":"a.csv","size":4,"type":"file"}])");
  EXPECT_THAT(json::serialize(call("list", {}).at("data")),
              AllOf(HasSubstr("\"/data\""), HasSubstr("\"/out\"")));
}

TEST_P(Tools, EditAndSearchFiles) {
  tools(kFileTools);
  file("out/notes.txt", "first\nsecond\n");
  auto result = call("edit", {{"path", "/out/notes.txt"}, {"old", "second\n"}, {"new", "2\n"}});
  EXPECT_STATUS(result, "success");
  EXPECT_EQ(read_file(host_ / "out/notes.txt"), "first\n2\n");
  struct stat status{};
  ASSERT_EQ(::stat((host_ / "out/notes.txt").c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, GetParam() == As::user ? kUserUid : 0U);
  result = call("edit", {{"path", "/out/notes.txt"}, {"old", "second"}, {"new", "x"}});
  EXPECT_STATUS(result, "error");
  EXPECT_THAT(text(result, "error"), HasSubstr("found 0 times"));
  EXPECT_STATUS(call("edit", {{"path", "/data/a.csv"}, {"old", "1"}, {"new", "x"}}), "error");
  EXPECT_EQ(read_file(host_ / "data/a.csv"), "1,2\n");

  file("data/b.txt", "first of a text that is not for this tool");
  file("data/c.csv", "0\nfirst,1\n");
  result = call("search", {{"pattern", "^fi.st"}, {"regex", true}});
  EXPECT_STATUS(result, "success");
  EXPECT_EQ(json::serialize(result.at("data").at("matches")),
            R"([{"column":1,"line":2,"path":"/data/c.csv","text":"first,1"},)"
            R"({"column":1,"line":1,"path":"/out/notes.txt","text":"first"}])");
  std::filesystem::create_directory_symlink("..", host_ / "out/up");
  std::filesystem::create_hard_link(host_ / "secret", host_ / "out/hard");
  EXPECT_THAT(json::serialize(call("search", {{"pattern", "SECRET"}}).at("data").at("matches")),
              "[]");
}

// In a cell of its own or not: what the host's git, shell or agent obeys is not the tool's to
// write.
TEST_P(Tools, LeaveProtectedNamesReadOnly) {
  tools(R"(
tools:
  read: { use: read_file, needs: [work], files: { read: ["HOST/out:/out"] } }
  write: { use: write_file, needs: [work], files: { write: ["HOST/out:/out"] } }
  edit: { use: edit_file, needs: [work], files: { write: ["HOST/out:/out"] } }
  hooks: { use: write_file, needs: [work], files: { write: ["HOST/out/.git:/repository"] } }
  copy:
    use: run_shell
    needs: [work]
    files: { write: ["HOST/out:/out"], write_mode: copy }
)");
  make_directory(host_ / "out/.git");
  make_directory(host_ / "out/.git/hooks");
  file("out/.git/config", "[core]\n");
  for (const char* path : {"/out/.git/config", "/out/.git/hooks/pre-commit", "/out/.envrc"}) {
    const auto result = call("write", {{"path", path}, {"content", "OWNED"}});
    EXPECT_STATUS(result, "error");
    EXPECT_THAT(text(result, "error"), HasSubstr("protected")) << path;
  }
  EXPECT_STATUS(call("edit", {{"path", "/out/.git/config"}, {"old", "core"}, {"new", "x"}}),
                "error");
  EXPECT_STATUS(call("hooks", {{"path", "hooks/pre-commit"}, {"content", "OWNED"}}), "error");
  EXPECT_STATUS(call("read", {{"path", "/out/.git/config"}}), "success");

  const auto copied = call("copy", {{"code",
                                     "cd /out; echo OWNED >.git/config; echo OWNED "
                                     ">.git/hooks/x; echo OWNED >.envrc; echo new >plain"}});
  EXPECT_STATUS(copied, "success");
  EXPECT_THAT(json::serialize(copied.at("findings")), HasSubstr("protected"));
  EXPECT_EQ(read_file(host_ / "out/plain"), "new\n") << "the twin";
  EXPECT_EQ(read_file(host_ / "out/.git/config"), "[core]\n");
  EXPECT_TRUE(std::filesystem::is_empty(host_ / "out/.git/hooks"));
  EXPECT_FALSE(std::filesystem::exists(host_ / "out/.envrc"));
}

// A denied file that is there ends the call before it begins; one that is not cannot be made.
TEST_P(Tools, TouchNothingThatTheCeilingDenies) {
  const std::string work = R"(
tools:
  read: { use: read_file, needs: [work], files: { read: ["HOST/out:/out"] } }
  list: { use: list_files, needs: [work], files: { read: ["HOST/out:/out"] } }
  search: { use: search_files, needs: [work], files: { read: ["HOST/out:/out"] } }
  write: { use: write_file, needs: [work], files: { write: ["HOST/out:/out"] } }
  edit: { use: edit_file, needs: [work], files: { write: ["HOST/out:/out"] } }
)";
  tools("ceiling: { files: { deny: [\"/**/*.pem\"] } }\n" + work);
  const auto made = call("write", {{"path", "/out/new.pem"}, {"content", "x"}});
  EXPECT_STATUS(made, "error");
  EXPECT_FALSE(std::filesystem::exists(host_ / "out/new.pem"));
  file("out/key.pem", "SECRET");
  const std::pair<const char*, json::object> calls[] = {
      {"read", {{"path", "/out/key.pem"}}},
      {"list", {{"path", "/out"}}},
      {"search", {{"pattern", "SECRET"}}},
      {"write", {{"path", "/out/key.pem"}, {"content", "OWNED"}}},
      {"edit", {{"path", "/out/key.pem"}, {"old", "SECRET"}, {"new", "OWNED"}}}};
  for (const auto& [tool, arguments] : calls) {
    const auto result = call(tool, arguments);
    EXPECT_STATUS(result, "blocked") << tool;
    EXPECT_EQ(text(result, "rule"), "ceiling.files.deny") << tool;
    EXPECT_THAT(json::serialize(result), Not(HasSubstr("SECRET"))) << tool;
  }
  EXPECT_EQ(read_file(host_ / "out/key.pem"), "SECRET");
  tools(work);
  EXPECT_THAT(json::serialize(call("search", {{"pattern", "SECRET"}})), HasSubstr("SECRET"))
      << "the twin";
}

TEST_P(Tools, TellAModelWhyAFileWasRefused) {
  tools(kFileTools);
  file("out/secret.csv", "x");
  std::filesystem::create_symlink("../secret", host_ / "out/link");
  const auto error = [&](const char* path) {
    const auto result = call("read", {{"path", path}});
    EXPECT_STATUS(result, "error") << path;
    EXPECT_EQ(result.at("exit_code"), 1);
    return text(result, "error");
  };
  EXPECT_THAT(error("/out/link"), HasSubstr("symbolic link"));
  EXPECT_THAT(error("/data/b.txt"), AllOf(HasSubstr("not one of the files"), HasSubstr("*.csv")));
  EXPECT_THAT(error("/data/none.csv"), AllOf(HasSubstr("does not exist"), HasSubstr("list_files")));
  EXPECT_THAT(error("/etc/passwd"), HasSubstr("not in a place"));
  EXPECT_THAT(error("/data/../etc/passwd"), HasSubstr(".."));
}

// Every way has its twin: `cat` of a person at that machine gets the secret.
TEST_P(Tools, NeverReadBeyondTheirPlaces) {
  tools(kFileTools);
  namespace fs = std::filesystem;
  fs::create_symlink("../secret", host_ / "out/link");
  fs::create_directory_symlink("..", host_ / "out/up");
  fs::create_symlink(host_ / "secret", host_ / "data/absolute.csv");
  fs::create_hard_link(host_ / "secret", host_ / "out/hard");
  fs::create_directory_symlink("../data", host_ / "out/data");
  file("data/b.txt", "SECRET");
  struct {
    const char *path, *host;
  } constexpr kWays[] = {{"/out/link", "out/link"},
                         {"/out/up/secret", "out/up/secret"},
                         {"/data/absolute.csv", "data/absolute.csv"},
                         {"/out/hard", "out/hard"},
                         {"/out/data/b.txt", "out/data/b.txt"},
                         {"/data/b.txt", "data/b.txt"},
                         {"/out/../data/b.txt", "out/../data/b.txt"},
                         {"../../proc/1/root/secret", "secret"}};
  for (const auto& way : kWays) {
    EXPECT_EQ(run({"/bin/cat", host_ / way.host}, {.as = GetParam()}).out, "SECRET") << way.host;
    const auto result = call("read", {{"path", way.path}});
    EXPECT_STATUS(result, "error") << way.path;
    EXPECT_THAT(json::serialize(result), Not(HasSubstr("SECRET"))) << way.path;
  }
  ASSERT_EQ(::mkfifo((host_ / "out/fifo").c_str(), 0666), 0);
  EXPECT_THAT(text(call("read", {{"path", "/out/fifo"}}), "error"), HasSubstr("FIFO"));
}

TEST_P(Tools, NeverWriteBeyondTheirPlaces) {
  tools(kFileTools);
  namespace fs = std::filesystem;
  fs::create_symlink("../secret", host_ / "out/link.csv");
  fs::create_directory_symlink("..", host_ / "out/up");
  fs::create_hard_link(host_ / "secret", host_ / "out/hard.csv");
  for (const char* path : {"/data/a.csv", "/data/new.csv", "/out/link.csv", "/out/hard.csv",
                           "/out/up/x.csv", "/out/new.txt", "/out/../x.csv", "/etc/x.csv",
                           "/out/none/x.csv", "/run/sallyport/x.csv", "/workspace/x.csv"})
    for (const bool append : {false, true})
      EXPECT_STATUS(call("write", {{"path", path}, {"content", "OWNED"}, {"append", append}}),
                    "error")
          << path;
  EXPECT_EQ(read_file(host_ / "secret"), "SECRET");
  EXPECT_EQ(read_file(host_ / "data/a.csv"), "1,2\n");
  EXPECT_FALSE(fs::exists(host_ / "x.csv"));
  EXPECT_FALSE(fs::exists(host_ / "out/new.txt"));
}

TEST_P(Tools, LeaveNothingOfAFileThatIsTooLarge) {
  tools(kFileTools);
  const auto result = call("write", {{"path", "big.csv"}, {"content", std::string(100'001, 'x')}});
  EXPECT_STATUS(result, "error");
  EXPECT_THAT(text(result, "error"), HasSubstr("file_size"));
  EXPECT_STATUS(call("write", {{"path", "fits.csv"}, {"content", std::string(100'000, 'x')}}),
                "success");
  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(host_ / "out"))
    left.push_back(entry.path().filename());
  std::ranges::sort(left);
  EXPECT_THAT(left, ElementsAre("fits.csv", "old.csv"));
}

TEST_P(Tools, ReadAHugeFilePieceByPiece) {
  tools(kFileTools);
  file("out/huge", std::string(200'000, 'x'));
  std::int64_t offset = 0;
  int pieces = 0;
  for (bool more = true; more && pieces < 20; ++pieces) {
    const auto result = call("read", {{"path", "/out/huge"}, {"offset", offset}});
    EXPECT_STATUS(result, "success");
    const auto& data = result.at("data").as_object();
    more = data.at("truncated").as_bool();
    if (more) offset = data.at("next_offset").as_int64();
  }
  EXPECT_EQ(pieces, 5);
}

TEST_P(Tools, WriteInCopyModeReachesTheHostAtTheEnd) {
  tools(R"(
tools:
  write:
    use: write_file
    needs: [work]
    files: { write: ["HOST/out:/out"], write_mode: copy }
)");
  EXPECT_STATUS(call("write", {{"path", "/out/old.csv"}, {"content", "new"}}), "success");
  EXPECT_EQ(read_file(host_ / "out/old.csv"), "new");
}

SALLYPORT_FOR_ROOT_AND_USER(Tools);

}  // namespace
}  // namespace sallyport::test
