#include "base/protected_names.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace sallyport {
namespace {

std::string_view rule_of(const ProtectedQuery& query) {
  const ProtectedName* rule = find_protected(query);
  return rule == nullptr ? "" : rule->pattern;
}
std::string_view for_file_tools(std::string_view path) {
  return rule_of({.path = path, .file_tool = true});
}
std::string_view for_cells(std::string_view path, bool directory = false) {
  return rule_of({.path = path, .directory = directory});
}

TEST(ProtectedNames, HoldAtAnyDepthAndForEverythingBelowThem) {
  for (const char* path : {".bashrc", "a/b/.bashrc", "/home/u/.zshenv", ".ssh/authorized_keys",
                           "a/.vscode/tasks.json", ".claude/hooks/x/y", ".mcp.json", "a/CLAUDE.md",
                           ".config/fish/config.fish", "x.code-workspace", ".git/hooks/pre-commit",
                           "a/.git/config", ".git/modules/sub/deep/hooks/post-checkout",
                           ".git/worktrees/w/config.worktree", ".git/commondir", ".gitmodules"}) {
    EXPECT_NE(for_file_tools(path), "") << path;
    EXPECT_NE(for_cells(path), "") << path;
  }
}

TEST(ProtectedNames, LeaveNamesAloneThatOnlyLookLikeThem) {
  for (const char* path :
       {"bashrc", "git/hooks/x", ".gitignore", ".github/workflows/ci.yml", "hooks/pre-commit",
        "config", "src/config/fish", "a.profile", "my.bashrc", ".bashrc.d", ".sshd/x", "claude",
        "docs/claude.md.txt", "x.code-workspaces", "Makefile", ".gitattributes", ""})
    EXPECT_EQ(for_file_tools(path), "") << path;
}

TEST(ProtectedNames, LetGitItselfWriteTheRestOfItsDirectoryButNobodyByHand) {
  for (const char* path : {".git/index", ".git/refs/heads/main", ".git/objects/ab/cd"}) {
    EXPECT_EQ(for_cells(path), "") << path;
    EXPECT_EQ(for_file_tools(path), ".git") << path;
  }
  EXPECT_EQ(for_cells("sub/.git", true), "");
  EXPECT_EQ(for_cells("sub/.git", false), ".git") << "a file or a link leads elsewhere";
}

TEST(ProtectedNames, AreComparedAsAFileSystemThatFoldsCaseDoes) {
  for (const char* path : {".GIT/Hooks/x", ".BashRC", ".ba\u017Fhrc", ".\u017F\u017Fh/x",
                           ".z\u200Bshrc", ".g\u200Cit/config", ".vscode./x", ".ssh /x",
                           "\uFEFF.profile", ".\u212A\u017Fhrc", "agents.MD", ".gi\uFE0Ft/hooks"})
    EXPECT_NE(for_file_tools(path), "") << path;
  // Wide letters are other letters to every file system.
  EXPECT_EQ(for_file_tools("\uFF0Egit/hooks"), "");
  EXPECT_EQ(for_file_tools(".b\u0430shrc"), "") << "a Cyrillic letter";
  EXPECT_EQ(for_file_tools(".git\xff/hooks"), "");
}

TEST(ProtectedNames, AreTheOperatorsChoiceWhereAGrantNamesThem) {
  EXPECT_NE(rule_of({.path = "/home/u/.claude/work/a", .chosen = 2}), "");
  EXPECT_EQ(rule_of({.path = "/home/u/.claude/work/a", .chosen = 3}), "");
  EXPECT_EQ(rule_of({.path = "/home/u/.claude/work/a", .chosen = 4}), "");
  EXPECT_NE(rule_of({.path = "/home/u/.claude/work/.claude/a", .chosen = 4}), "");
  // The directory is granted, what git runs in it is not.
  EXPECT_EQ(rule_of({.path = "/r/.git/index", .chosen = 2, .file_tool = true}), "");
  EXPECT_EQ(rule_of({.path = "/r/.git/hooks/x", .chosen = 2, .file_tool = true}), ".git/**/hooks");
  EXPECT_EQ(rule_of({.path = "/r/.git/hooks/x", .chosen = 3, .file_tool = true}), "");
}

TEST(ProtectedNames, CostLittleHoweverDeepThePathIs) {
  std::string path;
  for (int i = 0; i < 500; ++i)
    path += ".git/a/";
  EXPECT_EQ(for_cells(path + "index"), "");
  EXPECT_NE(for_cells(path + "config"), "");
}

TEST(ProtectedNames, StandInTheDocumentation) {
  std::ostringstream page;
  page << std::ifstream(std::string(SALLYPORT_SOURCE_DIR) + "/docs/tools.md").rdbuf();
  for (const ProtectedName& rule : protected_names())
    EXPECT_NE(page.str().find("`" + std::string(rule.pattern) + "`"), std::string::npos)
        << rule.pattern;
}

}  // namespace
}  // namespace sallyport
