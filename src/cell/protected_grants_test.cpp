#include "cell/protected_grants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace sallyport {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class ProtectedGrants : public testing::Test {
 protected:
  ProtectedGrants() {
    char name[] = "/tmp/sallyport-protected.XXXXXX";
    if (::mkdtemp(name) != nullptr) tree_ = name;
  }
  ~ProtectedGrants() override { std::filesystem::remove_all(tree_); }

  void make(const std::string& path) const {
    const auto whole = std::filesystem::path(tree_) / path;
    std::filesystem::create_directories(whole.parent_path());
    std::ofstream(whole) << "x";
  }
  [[nodiscard]] std::vector<std::string> listed() const {
    std::vector<std::string> paths;
    for (const ProtectedPlace& place : list_protected(tree_))
      paths.push_back(place.path);
    return paths;
  }

  std::string tree_;
};

TEST_F(ProtectedGrants, AreThoseAtTheTopOfATreeAndWithinItsRepository) {
  EXPECT_THAT(listed(), IsEmpty());
  for (const char* path :
       {"src/main.c", ".git/config", ".git/hooks/pre-commit", ".git/HEAD", ".git/objects/ab/config",
        ".git/modules/part/config", ".git/modules/part/HEAD", ".bashrc", "CLAUDE.md",
        ".vscode/tasks.json", ".config/fish/config.fish", ".config/other/x", "a.code-workspace",
        ".github/workflows/ci.yml", "notes.md", "deep/.bashrc"})
    make(path);
  std::filesystem::create_symlink("/etc/passwd", tree_ + "/.zshrc");
  EXPECT_THAT(listed(),
              ElementsAre(".bashrc", ".config/fish", ".git/config", ".git/hooks",
                          ".git/modules/part/config", ".vscode", "CLAUDE.md", "a.code-workspace"));
}

TEST_F(ProtectedGrants, HoldTheWayToEachNameToo) {
  make(".git/hooks/pre-commit");
  make(".envrc");
  std::vector<Grant> grants = {{.host = tree_, .inside = "/repo", .write = true},
                               {.host = "/usr", .inside = "/read", .write = false}};
  const auto trees = protected_trees(grants);
  ASSERT_EQ(trees.size(), 1U) << "only what is written to";
  protect(trees[0], grants);
  std::vector<std::string> added;
  for (std::size_t i = 2; i < grants.size(); ++i)
    added.push_back(grants[i].inside + (grants[i].write ? " rw" : " ro"));
  EXPECT_THAT(added, ElementsAre("/repo/.envrc ro", "/repo/.git rw", "/repo/.git/hooks ro"));

  // What the operator names is the operator's choice.
  std::vector<Grant> chosen = {
      {.host = tree_, .inside = "/repo", .write = true},
      {.host = tree_ + "/.git/hooks", .inside = "/repo/.git/hooks", .write = true}};
  protect(trees[0], chosen);
  EXPECT_TRUE(chosen[1].write);
  EXPECT_EQ(chosen.size(), 4U);
}

TEST_F(ProtectedGrants, TellOfNamesThatACallHasMade) {
  make(".bashrc");
  const auto trees = protected_trees({{.host = tree_, .inside = "/repo", .write = true}});
  EXPECT_THAT(find_new_protected(trees.at(0)), IsEmpty());
  make(".git/hooks/post-checkout");
  const auto found = find_new_protected(trees.at(0));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].kind, "protected_name");
  EXPECT_EQ(found[0].path, "/repo/.git/hooks");
}

TEST_F(ProtectedGrants, ARepositoryThatIsACrowdIsProtectedAsAWhole) {
  make(".git/config");
  std::filesystem::create_directories(tree_ + "/.git/many");
  for (int i = 0; i < 20'001; ++i)
    ASSERT_EQ(::symlink("x", (tree_ + "/.git/many/" + std::to_string(i)).c_str()), 0);
  EXPECT_THAT(listed(), ElementsAre(".git"));
  std::filesystem::remove_all(tree_ + "/.git/many");
  std::string deep = ".git";
  for (int i = 0; i < 10; ++i)
    deep += "/d";
  make(deep + "/hooks/x");
  EXPECT_THAT(listed(), ElementsAre(".git"));
}

}  // namespace
}  // namespace sallyport
