// What the file tools never do, whatever the places are: touch protected names, touch what the
// ceiling denies.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include "tool/file_fixture.h"

namespace sallyport {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class FileGuard : public FilePlaceTest {
 protected:
  std::vector<std::string> names(const std::string& path) {
    std::vector<std::string> list_of_names;
    const auto answer = list(path);
    EXPECT_TRUE(answer) << answer.error().message;
    if (answer)
      for (const json::value& entry : answer->at("entries").as_array())
        list_of_names.emplace_back(entry.at("name").as_string());
    return list_of_names;
  }
};

TEST_F(FileGuard, LeavesProtectedNamesReadOnlyInAWritableTree) {
  for (const char* path : {".git/config", ".git/hooks/pre-commit", ".git/index", ".bashrc",
                           "sub/.envrc", ".vscode/tasks.json", ".claude/settings.json", "CLAUDE.md",
                           ".ssh/authorized_keys", ".GIT/Config", ".ba\u017Fhrc"}) {
    tree.write(std::string("data/") + path, "old");
    for (const bool append : {false, true}) {
      order.append = append;
      const auto answer = write(path, "OWNED");
      ASSERT_FALSE(answer) << path;
      EXPECT_THAT(answer.error().message, AllOf(HasSubstr("protected"), HasSubstr("read-only")));
      EXPECT_THAT(answer.error().hint, HasSubstr("may be read"));
    }
    EXPECT_THAT(edit(path, "old", "OWNED").error().message, HasSubstr("protected")) << path;
    EXPECT_EQ(tree.read(std::string("data/") + path), "old");
    EXPECT_TRUE(read(path)) << "they may be read: " << path;
  }
  EXPECT_TRUE(write("sub/plain", "x")) << "the twin: other names may be written";
}

TEST_F(FileGuard, LeavesProtectedNamesAloneThatAreNotThereYet) {
  for (const char* path : {".git", ".gitmodules", ".profile", ".mcp.json", ".cursor", ".ssh"}) {
    EXPECT_THAT(write(path, "OWNED").error().message, HasSubstr("protected")) << path;
    EXPECT_FALSE(std::filesystem::exists(tree / (std::string("data/") + path))) << path;
  }
}

TEST_F(FileGuard, TakesAProtectedPlaceAsTheOperatorsChoiceButNotWhatGitRunsInIt) {
  tree.write("repo/.git/description", "old");
  tree.write("repo/.git/hooks/pre-commit", "old");
  tree.write("repo/.vscode/tasks.json", "old");
  use("repo/.vscode", "");
  EXPECT_TRUE(write("tasks.json", "new"));
  use("repo/.git", "");
  EXPECT_TRUE(write("description", "new"));
  EXPECT_FALSE(write("hooks/pre-commit", "OWNED"));
  // It is the host's path that counts, whatever the place is called in the cell.
  use("repo", "");
  order.places[0].host = "/srv/repo/.git";
  tree.write("repo/hooks/pre-push", "old");
  EXPECT_THAT(write("hooks/pre-push", "OWNED").error().message,
              AllOf(HasSubstr("protected"), Not(HasSubstr("/srv"))));
  order.places[0].host = "/srv/repo";
  EXPECT_TRUE(write("hooks/pre-push", "new"));
}

TEST_F(FileGuard, TouchesNothingThatTheCeilingDenies) {
  tree.write("data/keys/a.pem", "SECRET");
  tree.write("data/.aws/credentials", "SECRET");
  tree.write("data/x/y.pem", "SECRET");
  EXPECT_THAT(found("", "SECRET"), testing::SizeIs(3)) << "the twin";
  EXPECT_TRUE(read("keys/a.pem"));
  order.denied = {"/**/*.pem", "/**/.aws/**", (tree / "data/exact")};
  for (const char* path :
       {"keys/a.pem", ".aws/credentials", "x/y.pem", "exact", ".aws/new", "keys/new.pem"}) {
    EXPECT_THAT(read(path).error().message, HasSubstr("not one of the files")) << path;
    EXPECT_FALSE(write(path, "OWNED")) << path;
    EXPECT_FALSE(edit(path, "SECRET", "OWNED")) << path;
    const auto searched = search(path, "SECRET");
    EXPECT_FALSE(searched) << path;
  }
  EXPECT_THAT(found("", "SECRET"), IsEmpty());
  order.recursive = true;
  EXPECT_THAT(names(""), ElementsAre("a.txt", "keys", "x"));
  EXPECT_FALSE(list(".aws"));
  EXPECT_EQ(tree.read("data/keys/a.pem"), "SECRET");
  EXPECT_FALSE(std::filesystem::exists(tree / "data/keys/new.pem"));
  EXPECT_TRUE(read("a.txt"));
}

TEST_F(FileGuard, HoldsTheCeilingAgainstThePathOfTheHost) {
  tree.write("data/in/file", "SECRET");
  order.places[0].host = "/srv/shop";
  order.denied = {"/srv/shop/in"};
  EXPECT_FALSE(read("in/file"));
  EXPECT_THAT(found("", "SECRET"), IsEmpty());
  order.denied = {tree / "data/in"};
  EXPECT_TRUE(read("in/file")) << "that is not what it is on the host";
  use("data/in/file", "");
  order.places[0].host = "/etc/shadow";
  order.denied = {"/etc/shadow"};
  EXPECT_FALSE(read(tree / "data/in/file"));
  EXPECT_FALSE(search(tree / "data/in/file", "S"));
  order.denied = {"/etc/["};
  EXPECT_FALSE(read(tree / "data/in/file")) << "a rule that cannot be read is not a rule less";
}

TEST_F(FileGuard, TakesNamesAsBytesAndRefusesOnesThatHide) {
  for (const std::string& path :
       {std::string("a.txt\0", 6), std::string("a\x01.txt"), std::string("a\x7f"),
        std::string("\u202Etxt.a"), std::string("\xC0\xAE\xC0\xAE/secret"), std::string("a\xff"),
        std::string("%2e%2e/secret/"), std::string("..\\secret"), std::string("~/secret"),
        std::string("$HOME/secret"), std::string("\uFF0E\uFF0E/secret"), std::string("A.TXT"),
        std::string("a.txt."), std::string("a.txt "), std::string("/dev/stdin"),
        std::string("/proc/self/fd/0"), std::string("/dev/fd/0")}) {
    EXPECT_FALSE(read(path)) << path;
    EXPECT_FALSE(edit(path, "one", "OWNED")) << path;
  }
  EXPECT_EQ(tree.read("data/a.txt"), "one\ntwo\nthree\n");
}

}  // namespace
}  // namespace sallyport
