// A tree that a cell may write to: what the owner's own programs would obey stays as it is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <thread>

#include "support/live_process.h"

namespace sallyport::test {
namespace {

using testing::HasSubstr;
using testing::Not;

class ProtectedNames : public CellTest {
 protected:
  ProtectedNames() : tree_(GetParam()) {
    const Ran made = run({"bash", "-euc",
                          "cd \"$1\"; mkdir -p .git/hooks .git/info .git/modules/part .vscode src; "
                          "echo fine | tee .git/config .git/HEAD .git/hooks/pre-commit .bashrc "
                          "CLAUDE.md .vscode/tasks.json .git/modules/part/config src/main.c",
                          "make", tree_.path()},
                         {.as = GetParam()});
    EXPECT_EQ(made.exit_code, 0) << made.err;
  }

  // True: the command, in the tree, changed what the owner's programs obey.
  [[nodiscard]] bool is_changed() const {
    for (const char* name : {".git/config", ".git/hooks/pre-commit", ".bashrc", "CLAUDE.md",
                             ".vscode/tasks.json", ".git/modules/part/config"})
      if (read_file(tree_ / name) != "fine\n") return true;
    return std::filesystem::exists(tree_ / ".git/hooks/evil") ||
           std::filesystem::exists(tree_ / ".vscode/evil");
  }

  TempDir tree_;
};

constexpr const char* kAttacks[] = {
    "echo evil > .git/config",
    "echo evil >> .git/hooks/pre-commit",
    "echo evil > .git/hooks/evil",
    "echo evil > .bashrc",
    "rm -f .bashrc",
    "rm -rf .git",
    "mv .git .old && mkdir .git && echo evil > .git/config",
    "mv .git/hooks .git/old && mkdir .git/hooks && echo evil > .git/hooks/pre-commit",
    "mv .git/modules .git/old && mkdir -p .git/modules/part && echo evil > "
    ".git/modules/part/config",
    "echo evil > x && mv -f x CLAUDE.md",
    "ln -f src/main.c x && echo evil > x && ln -f x .bashrc",
    "ln .bashrc x && echo evil > x",
    "ln -s .vscode x && echo evil > x/evil",
    "chmod 777 .bashrc && echo evil > .bashrc",
    "python3 -c \"import os; os.truncate('CLAUDE.md', 0)\"",
    "python3 -c \"import os; fd = os.open('.', os.O_RDONLY); os.rename('.vscode', 'v', "
    "src_dir_fd=fd, dst_dir_fd=fd)\"",
};

TEST_P(ProtectedNames, StayAsTheyAreInAWritableTree) {
  for (const char* attack : kAttacks) {
    const Ran ran = run_cell(GetParam(), {"--write", tree_.path() + ":/repo", "--cwd", "/repo",
                                          "--", "bash", "-c", attack});
    EXPECT_FALSE(is_changed()) << attack << "\n" << ran.out << ran.err;
    run({"bash", "-c", "cd \"$1\"; rm -rf x .old .git/old v", "clean", tree_.path()});
  }
  // The rest of the tree can be worked on, and git's own files too.
  const Ran work =
      run_cell(GetParam(), {"--write", tree_.path() + ":/repo", "--cwd", "/repo", "--", "bash",
                            "-euc", "echo new > src/main.c; echo ref > .git/HEAD; mkdir made"});
  EXPECT_EQ(work.exit_code, 0) << work.err;
  EXPECT_EQ(read_file(tree_ / "src/main.c"), "new\n");
  EXPECT_EQ(read_file(tree_ / ".git/HEAD"), "ref\n");
  EXPECT_TRUE(std::filesystem::exists(tree_ / "made"));
}

// The twin: without a cell, each of them works.
TEST_P(ProtectedNames, AreChangedByTheSameCommandsOutside) {
  for (const char* attack : kAttacks) {
    const TempDir copy(GetParam());
    run({"cp", "-a", tree_.path() + "/.", copy.path()});
    run({"bash", "-c", attack}, {.as = GetParam(), .cwd = tree_.path()});
    EXPECT_TRUE(is_changed()) << attack;
    run({"bash", "-c", "rm -rf \"$1\"; cp -a \"$2\" \"$1\"", "restore", tree_.path(), copy.path()});
    EXPECT_FALSE(is_changed());
  }
}

// What an earlier call leaves behind does not open the way for the next one.
TEST_P(ProtectedNames, StayAsTheyAreWhateverAnEarlierCallHasMade) {
  const auto call = [&](const std::string& script) {
    return run_cell(GetParam(),
                    {"--write", tree_.path() + ":/repo", "--", "bash", "-c", "cd /repo;" + script});
  };
  const std::string attack =
      "chmod 755 . .git; for f in .bashrc CLAUDE.md .git/config .git/hooks/pre-commit "
      ".git/modules/part/config .vscode/tasks.json; do echo evil > $f; done";
  for (const char* before :
       {"mkdir -p .git/a/b/c/d/e/f/g/h/i/j", "mkdir -p .git/x{1..100}/hooks",
        "mkdir -p .github/a/b/c/d/e/f/g/h/i/j", "chmod 0311 .git", "chmod 0311 .",
        "echo x > .git/modules/HEAD", "mkdir -p .git/many; touch .git/many/{1..21000}"}) {
    call(before);
    call(attack);
    EXPECT_FALSE(is_changed()) << before;
    run({"bash", "-c",
         "cd \"$1\"; chmod 755 . .git; rm -rf .git/a .git/x* .github .git/many .git/modules/HEAD",
         "clean", tree_.path()});
  }
}

TEST_P(ProtectedNames, OfARepositoryThatIsTheTreeStayToo) {
  for (const char* mode : {"direct", "copy"}) {
    run_cell(GetParam(), {"--write-mode", mode, "--write", tree_ / ".git:/g", "--", "bash", "-c",
                          "cd /g; echo evil > config; echo evil > hooks/pre-commit; rm -rf hooks "
                          "modules; mkdir -p hooks modules/part; echo evil > modules/part/config"});
    EXPECT_FALSE(is_changed()) << mode;
  }
}

TEST_P(ProtectedNames, ComeBackFromACopyAsTheyWere) {
  for (const char* attack :
       {"rm -rf .git; mkdir -p .git/objects; echo x > .git/HEAD", "rm -rf .git; echo x > .git",
        "rm -rf .git/modules; mkdir -p .git/modules/part; echo evil > .git/modules/part/config",
        "mv .git .old", "rm -rf * .[a-z]*"}) {
    run_cell(GetParam(), {"--write-mode", "copy", "--write", tree_.path() + ":/repo", "--", "bash",
                          "-c", std::string("cd /repo; ") + attack});
    EXPECT_FALSE(is_changed()) << attack;
  }
}

// The host's own git renames a file over its configuration, which takes the mount on it away.
TEST_P(ProtectedNames, ThatChangeWhileACallRunsAreTold) {
  const std::string script =
      "touch /repo/ready; until [ -e /repo/go ]; do sleep 0.05; done; echo evil > /repo/.bashrc";
  std::optional<Ran> ran;
  std::thread cell([&] {
    ran = run_cell(GetParam(), {"--json", "--timeout", "60s", "--write", tree_.path() + ":/repo",
                                "--", "bash", "-c", script});
  });
  EXPECT_TRUE(eventually([&] { return std::filesystem::exists(tree_ / "ready"); }));
  run({"bash", "-euc", "cd \"$1\"; echo mine > new; mv new .bashrc; touch go", "rename",
       tree_.path()},
      {.as = GetParam()});
  cell.join();
  EXPECT_THAT(ran->out, HasSubstr(R"("path":"/repo/.bashrc")"));
  EXPECT_THAT(ran->out, HasSubstr("changed while the call ran"));
}

TEST_P(ProtectedNames, ThatACallMakesAreTold) {
  const Ran ran =
      run_cell(GetParam(), {"--json", "--write", tree_.path() + ":/repo", "--", "bash", "-c",
                            "mkdir /repo/.claude; echo x > /repo/.envrc; echo x > /repo/plain"});
  const std::string said = boost::json::serialize(ran.json());
  EXPECT_THAT(said, HasSubstr(R"("path":"/repo/.claude")"));
  EXPECT_THAT(said, HasSubstr(R"("path":"/repo/.envrc")"));
  EXPECT_THAT(said, HasSubstr(R"("kind":"protected_name")"));
  EXPECT_THAT(said, Not(HasSubstr("/repo/plain")));
}

TEST_P(ProtectedNames, ThatTheOperatorNamesAreTheOperatorsChoice) {
  const Ran ran = run_cell(
      GetParam(), {"--write", tree_.path() + ":/repo", "--write", tree_ / ".bashrc:/repo/.bashrc",
                   "--", "bash", "-c", "echo evil > /repo/.bashrc"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_TRUE(is_changed());
}

SALLYPORT_FOR_ROOT_AND_USER(ProtectedNames);

}  // namespace
}  // namespace sallyport::test
