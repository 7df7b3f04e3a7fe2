#include "tool/file_search.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool/file_fixture.h"

namespace sallyport {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class FileSearch : public FilePlaceTest {
 protected:
  FileSearch() {
    tree.write("data/src/b.py", "import os\nOS = 1\n");
    tree.write("data/src/deep/c.h", "os\r\n");
  }
};

TEST_F(FileSearch, FindsLinesInTheOrderOfTheirFiles) {
  EXPECT_THAT(found("", "o"),
              ElementsAre("data/a.txt:1:1:one", "data/a.txt:2:3:two", "data/src/b.py:1:4:import os",
                          "data/src/deep/c.h:1:1:os"));
  EXPECT_THAT(found("src", "os"),
              ElementsAre("data/src/b.py:1:8:import os", "data/src/deep/c.h:1:1:os"));
  EXPECT_THAT(found("src/b.py", "os"), ElementsAre("data/src/b.py:1:8:import os"));
  EXPECT_THAT(found(tree / "data/src/", "import"), SizeIs(1));
  EXPECT_THAT(found("", "nowhere"), IsEmpty());
  EXPECT_EQ(search("", "nowhere")->at("files"), 3);
  EXPECT_EQ(search("", "nowhere")->at("truncated"), false);
}

TEST_F(FileSearch, TakesALiteralUnlessItIsToldOtherwise) {
  tree.write("data/r", "a.c\nabc\nA.C\n");
  EXPECT_THAT(found("r", "a.c"), ElementsAre("data/r:1:1:a.c"));
  order.ignore_case = true;
  EXPECT_THAT(found("r", "a.c"), SizeIs(2));
  order.regex = true;
  EXPECT_THAT(found("r", "^a.c$"), SizeIs(3));
  EXPECT_THAT(search("r", "a(").error().message, HasSubstr("not a regular expression"));
  EXPECT_THAT(search("r", "(?=a)").error().hint, HasSubstr("RE2"));
  EXPECT_FALSE(search("r", "(((a{100}){100}){100}){100}"));
  EXPECT_FALSE(search("r", ""));
  EXPECT_FALSE(search("r", "a\nb"));
}

TEST_F(FileSearch, NarrowsByNameOrByPath) {
  order.names = "*.py";
  EXPECT_THAT(found("", "os"), ElementsAre("data/src/b.py:1:8:import os"));
  order.names = "src/*/*.h";
  EXPECT_THAT(found("", "os"), ElementsAre("data/src/deep/c.h:1:1:os"));
  order.names = "deep/*";
  EXPECT_THAT(found("src", "os"), ElementsAre("data/src/deep/c.h:1:1:os"));
  order.names = "../*";
  EXPECT_FALSE(search("", "os"));
}

TEST_F(FileSearch, ShowsTheLinesAround) {
  order.context = 1;
  const auto answer = search("a.txt", "two");
  ASSERT_TRUE(answer);
  const auto& match = answer->at("matches").at(0);
  EXPECT_EQ(json::serialize(match.at("before")), R"(["one"])");
  EXPECT_EQ(json::serialize(match.at("after")), R"(["three"])");
}

TEST_F(FileSearch, CountsColumnsInCharactersAndCutsLongLinesAroundTheMatch) {
  tree.write("data/wide", "日本 word\n" + std::string(5000, 'x') + "word" + std::string(5000, 'y'));
  const auto answer = search("wide", "word");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->at("matches").at(0).at("column"), 4);
  EXPECT_EQ(answer->at("matches").at(1).at("column"), 5001);
  const std::string text(answer->at("matches").at(1).at("text").as_string());
  EXPECT_THAT(text, HasSubstr("xwordy"));
  EXPECT_LT(text.size(), 500U);
}

TEST_F(FileSearch, LeavesOutBinaryAndSpecialFilesAndSaysSo) {
  tree.write("data/bin", std::string("two\0two", 7));
  ASSERT_EQ(::mkfifo((tree / "data/fifo").c_str(), 0666), 0);
  tree.link("a.txt", "data/link");
  tree.write("data/latin", "two \xe9\n");
  const auto answer = search("", "two");
  ASSERT_TRUE(answer);
  EXPECT_EQ(json::serialize(answer->at("left_out")), R"({"binary":1,"special":2})");
  EXPECT_THAT(found("latin", "two"), ElementsAre("data/latin:1:1:two \uFFFD"));
}

// Every way has its twin in the secret itself: a search that got there would find it.
TEST_F(FileSearch, NeverLooksBeyondItsPlaces) {
  tree.link("../secret", "data/link");
  tree.link("..", "data/up");
  tree.link("../data-secret", "data/src/in");
  ASSERT_EQ(::link((tree / "secret").c_str(), (tree / "data/hard").c_str()), 0);
  EXPECT_THAT(found("", "SECRET"), IsEmpty());
  for (const std::string& path :
       {std::string("link"), std::string("up"), std::string("up/secret"), std::string("hard"),
        std::string("src/in"), std::string("src/in/x"), std::string(".."), tree / "data-secret",
        tree / "secret", tree / "data/../secret", std::string("/proc/self/cwd"), tree.path(),
        std::string("a\nb"), std::string("a.txt\0x", 7), std::string(5000, 'a')}) {
    const auto answer = search(path, "SECRET");
    EXPECT_TRUE(!answer || answer->at("matches").as_array().empty()) << path;
    if (path != "hard") EXPECT_FALSE(answer) << path;
  }
  use("", "");
  order.places[0].inside = tree.path();
  EXPECT_THAT(found("data-secret", "SECRET"), SizeIs(1)) << "the twin";
}

TEST_F(FileSearch, LooksOnlyAtFilesThatTheGlobsName) {
  tree.write("data/src/secret.key", "SECRET");
  use("data", "**/*.py");
  tree.write("data/src/x.py", "SECRET?");
  EXPECT_THAT(found("", "SECRET"), ElementsAre("data/src/x.py:1:1:SECRET?"));
  // Whether a file that they do not name is there is not said.
  const auto there = search("src/secret.key", "S"), missing = search("src/missing.key", "S");
  ASSERT_FALSE(there || missing);
  EXPECT_EQ(there.error().hint, missing.error().hint);
  EXPECT_THAT(missing.error().message, HasSubstr("holds nothing"));
}

TEST_F(FileSearch, SearchesAllPlacesAndLetsTheDeepestDecide) {
  tree.write("data/inner/x.bin", "needle");
  tree.write("data/inner/x.txt", "needle");
  tree.write("other/y", "needle");
  add("data/inner", "*.txt");
  add("other", "");
  EXPECT_THAT(found("", "needle"),
              ElementsAre("data/inner/x.txt:1:1:needle", "other/y:1:1:needle"));
  EXPECT_THAT(found(tree / "data", "needle"), ElementsAre("data/inner/x.txt:1:1:needle"));
  EXPECT_THAT(found(tree / "data/inner", "needle"), SizeIs(1));
  use("data/a.txt", "");
  EXPECT_THAT(found("", "two"), ElementsAre("data/a.txt:2:1:two"));
}

TEST_F(FileSearch, EndsAtEachOfItsBoundsAndSaysSo) {
  for (int i = 0; i < 20; ++i)
    tree.write("data/many/f" + std::to_string(i), "hit\nhit\n");
  order.path = "many";
  order.pattern = "hit";
  const auto with = [&](const SearchLimits& limits) { return *search_files(order, limits); };
  EXPECT_EQ(with({}).at("truncated"), false);
  EXPECT_THAT(with({}).at("matches").as_array(), SizeIs(40));
  EXPECT_THAT(with({.matches = 7}).at("matches").as_array(), SizeIs(7));
  EXPECT_EQ(with({.matches = 7}).at("truncated"), true);
  EXPECT_EQ(with({.entries = 5}).at("truncated"), true);
  EXPECT_EQ(with({.bytes = 20}).at("truncated"), true);
  EXPECT_EQ(with({.bytes = 20}).at("files"), 3);
  EXPECT_EQ(with({.file_bytes = 7}).at("left_out").at("large"), 20);
  order.path = "";
  EXPECT_EQ(with({.depth = 0}).at("left_out").at("deep_directories"), 2);
  order.max_answer = 2000;
  EXPECT_EQ(with({}).at("truncated"), true);
  EXPECT_THAT(with({}).at("matches").as_array(), Not(IsEmpty()));
  EXPECT_LE(canonical_json(with({})).size(), 2000U);
  order.max_answer = 50;
  EXPECT_FALSE(search_files(order));
}

// What backtracking would never finish.
TEST_F(FileSearch, TakesLinearTimeOnHostileTextAndPatterns) {
  tree.write("data/same", std::string(4 << 20, 'a') + "\n");
  order.regex = true;
  EXPECT_THAT(found("same", "(a*)*b"), IsEmpty());
  EXPECT_THAT(found("same", "(a|a)*c$"), IsEmpty());
  EXPECT_THAT(found("same", "(x+x+)+y"), IsEmpty());
}

}  // namespace
}  // namespace sallyport
