#include "tool/file_edit.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "tool/file_fixture.h"

namespace sallyport {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class FileEdit : public FilePlaceTest {
 protected:
  std::vector<std::string> names_in(const std::string& directory) {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(tree / directory))
      names.push_back(entry.path().filename());
    std::ranges::sort(names);
    return names;
  }
};

TEST_F(FileEdit, ReplacesOnePieceOfTextAndKeepsTheMode) {
  ASSERT_EQ(::chmod((tree / "data/a.txt").c_str(), 0640), 0);
  const auto answer = edit("a.txt", "two\n", "2\n2\n");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(tree.read("data/a.txt"), "one\n2\n2\nthree\n");
  EXPECT_EQ(answer->at("replaced"), 1);
  EXPECT_EQ(answer->at("line"), 2);
  EXPECT_EQ(answer->at("size"), 14);
  EXPECT_EQ(answer->at("path").as_string(), tree / "data/a.txt");
  struct stat status{};
  ASSERT_EQ(::stat((tree / "data/a.txt").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0640U);
  EXPECT_THAT(names_in("data"), ElementsAre("a.txt"));
  ASSERT_TRUE(edit("a.txt", "2\n2\n", ""));
  EXPECT_EQ(tree.read("data/a.txt"), "one\nthree\n");
}

TEST_F(FileEdit, WantsOneMatchUnlessItIsToldAll) {
  tree.write("data/b.txt", "x\ny\nx\nx\n");
  auto answer = edit("b.txt", "x", "z");
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().message, AllOf(HasSubstr("found 3 times"), HasSubstr("1, 3, 4")));
  EXPECT_THAT(answer.error().hint, HasSubstr("all"));
  EXPECT_EQ(tree.read("data/b.txt"), "x\ny\nx\nx\n");
  order.all = true;
  answer = edit("b.txt", "x", "zz");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->at("replaced"), 3);
  EXPECT_EQ(tree.read("data/b.txt"), "zz\ny\nzz\nzz\n");
}

TEST_F(FileEdit, SeesThatOverlappingMatchesAreNotOneOnly) {
  tree.write("data/b.txt", "aaa");
  EXPECT_THAT(edit("b.txt", "aa", "b").error().message, HasSubstr("found 2 times"));
  order.all = true;
  ASSERT_TRUE(edit("b.txt", "aa", "b"));
  EXPECT_EQ(tree.read("data/b.txt"), "ba");
}

TEST_F(FileEdit, ShowsWhatComesNearWhenTheTextIsNotThere) {
  tree.write("data/code.py", "def f():\n\treturn 1\n");
  auto answer = edit("code.py", "def f():\n    return 1\n", "x");
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().message, HasSubstr("found 0 times"));
  EXPECT_THAT(answer.error().hint,
              AllOf(HasSubstr("other spaces"), HasSubstr("line 1 is 'def f():'")));
  tree.write("data/dos.txt", "a\r\nb\r\n");
  EXPECT_THAT(edit("dos.txt", "a\nb\n", "x").error().hint, HasSubstr("\\r\\n"));
  EXPECT_THAT(edit("a.txt", "nothing like it", "x").error().hint,
              AllOf(HasSubstr("exactly"), Not(HasSubstr("line 1"))));
  // Nothing of the file gets into a message unescaped.
  tree.write("data/odd", "word \x1b[2J\n");
  EXPECT_THAT(edit("odd", "word  \x1b", "x").error().hint, Not(HasSubstr("\x1b")));
}

TEST_F(FileEdit, RefusesWhatIsNotUtf8Text) {
  tree.write("data/nul", std::string("a\0b", 3));
  tree.write("data/latin", "caf\xe9");
  for (const char* name : {"nul", "latin"}) {
    const std::string before = tree.read(std::string("data/") + name);
    EXPECT_THAT(edit(name, "a", "b").error().message, HasSubstr("not UTF-8 text"));
    EXPECT_EQ(tree.read(std::string("data/") + name), before);
  }
}

TEST_F(FileEdit, BoundsWhatItReadsAndWhatItMakes) {
  tree.write("data/big", "");
  ASSERT_EQ(::truncate((tree / "data/big").c_str(), static_cast<off_t>(kLargestEdit) + 1), 0);
  EXPECT_THAT(edit("big", "a", "b").error().message, HasSubstr("too many to edit"));
  // A thousand times sixteen kilobytes from a file of one.
  tree.write("data/bomb", std::string(1100, 'a'));
  order.all = true;
  EXPECT_THAT(edit("bomb", "a", std::string(16 << 10, 'b')).error().message,
              HasSubstr("too many to edit"));
  EXPECT_EQ(tree.read("data/bomb"), std::string(1100, 'a'));
}

// With a search that starts anew at every position this would take days.
TEST_F(FileEdit, TakesLinearTimeOnMegabytesOfOneLetter) {
  tree.write("data/same", std::string(8 << 20, 'a'));
  EXPECT_THAT(edit("same", std::string(99'999, 'a') + "b", "x").error().message,
              HasSubstr("found 0 times"));
  EXPECT_THAT(edit("same", std::string(100'000, 'a'), "x").error().message,
              HasSubstr("found 8288609 times"));
}

TEST_F(FileEdit, LeavesEverythingAsItWasWhenTheDiskOrALimitEndsIt) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{.rlim_cur = 100, .rlim_max = 100};
    ::setrlimit(RLIMIT_FSIZE, &small);
    const auto edited = edit("a.txt", "two", std::string(200, 'x'));
    const auto written = write("a.txt", std::string(200, 'x'));
    const bool said = !edited && edited.error().hint.contains("file_size") && !written &&
                      written.error().hint.contains("file_size");
    ::_exit(said ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(tree.read("data/a.txt"), "one\ntwo\nthree\n");
  EXPECT_THAT(names_in("data"), ElementsAre("a.txt")) << "no half of a file is left";
}

TEST_F(FileEdit, NeverEditsThroughALinkOrAnotherName) {
  tree.link("../secret", "data/link");
  tree.link("..", "data/up");
  tree.link("../made", "data/dangling");
  ASSERT_EQ(::link((tree / "secret").c_str(), (tree / "data/hard").c_str()), 0);
  ASSERT_EQ(::mkfifo((tree / "data/fifo").c_str(), 0666), 0);
  for (const std::string& path :
       {std::string("link"), std::string("up/secret"), std::string("dangling"), std::string("hard"),
        std::string("fifo"), std::string("../secret"), tree / "secret", tree / "data-secret/x",
        std::string("/proc/self/root") + (tree / "secret"), std::string("."), std::string("")})
    EXPECT_FALSE(edit(path, "SECRET", "OWNED")) << path;
  EXPECT_EQ(tree.read("secret"), "SECRET\n");
  EXPECT_EQ(tree.read("data-secret/x"), "SECRET\n");
  EXPECT_FALSE(std::filesystem::exists(tree / "made"));
}

TEST_F(FileEdit, HoldsItsNamesToTheGlobsAndMakesNoFile) {
  use("data", "*.csv");
  EXPECT_THAT(edit("a.txt", "two", "2").error().message, HasSubstr("not one of the files"));
  EXPECT_FALSE(edit("none.csv", "two", "2"));
  EXPECT_FALSE(std::filesystem::exists(tree / "data/none.csv"));
  use("data/a.txt", "");
  EXPECT_THAT(edit(tree / "data/a.txt", "two", "2").error().message, HasSubstr("replaced"));
}

TEST_F(FileEdit, WantsSomethingToDo) {
  EXPECT_FALSE(edit("a.txt", "", "x"));
  EXPECT_FALSE(edit("a.txt", "two", "two"));
}

}  // namespace
}  // namespace sallyport
