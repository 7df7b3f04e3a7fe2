#include "cell/protected_grants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
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
    const auto places = list_protected(tree_);
    EXPECT_TRUE(places);
    for (const ProtectedPlace& place : *places)
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
  const auto trees = protected_trees(grants).value();
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
  const auto trees = protected_trees({{.host = tree_, .inside = "/repo", .write = true}}).value();
  EXPECT_THAT(find_new_protected(trees.at(0)), IsEmpty());
  make(".git/hooks/post-checkout");
  const auto found = find_new_protected(trees.at(0));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].kind, "protected_name");
  EXPECT_EQ(found[0].path, "/repo/.git/hooks");
}

TEST_F(ProtectedGrants, OfATreeThatIsARepositoryAreThoseInIt) {
  for (const char* path : {".git/HEAD", ".git/config", ".git/hooks/x", ".git/objects/config",
                           ".git/modules/lfs/HEAD", ".git/modules/lfs/config"})
    make(path);
  tree_ += "/.git";
  EXPECT_THAT(listed(), ElementsAre("config", "hooks", "modules/lfs/config"));
  tree_.resize(tree_.size() - 5);
  EXPECT_THAT(listed(), ElementsAre(".git/config", ".git/hooks", ".git/modules/lfs/config"));
}

TEST_F(ProtectedGrants, TellOfNamesThatChanged) {
  make(".bashrc");
  make(".git/hooks/x");
  const auto trees = protected_trees({{.host = tree_, .inside = "/repo", .write = true}}).value();
  make("other");
  std::filesystem::rename(tree_ + "/other", tree_ + "/.bashrc");
  make(".git/hooks/y");
  const auto found = find_new_protected(trees.at(0));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].path, "/repo/.bashrc");
  EXPECT_EQ(found[1].path, "/repo/.git/hooks");
}

// Whatever is hidden in a crowd, or behind a mode, is protected with all that is around it, and
// nothing else loses its protection.
TEST_F(ProtectedGrants, ADirectoryThatCannotBeLookedThroughIsProtectedAsAWhole) {
  make(".git/config");
  make(".bashrc");
  make("CLAUDE.md");
  std::filesystem::create_directories(tree_ + "/.git/many");
  for (int i = 0; i < 20'001; ++i)
    ASSERT_EQ(::mkdir((tree_ + "/.git/many/" + std::to_string(i)).c_str(), 0700), 0);
  EXPECT_THAT(listed(), ElementsAre(".bashrc", ".git", "CLAUDE.md"));
  std::filesystem::remove_all(tree_ + "/.git/many");
  for (const char* top : {".git", ".github"}) {
    std::string deep = top;
    for (int i = 0; i < 10; ++i)
      deep += "/d";
    make(deep + "/hooks/x");
  }
  EXPECT_THAT(listed(), ElementsAre(".bashrc", ".git", "CLAUDE.md"));
  std::filesystem::remove_all(tree_ + "/.git/d");
  for (int i = 0; i < 100; ++i)
    make(".git/x" + std::to_string(i) + "/hooks/x");
  EXPECT_THAT(listed(), ElementsAre(".bashrc", ".git", "CLAUDE.md"));
}

}  // namespace
}  // namespace sallyport
