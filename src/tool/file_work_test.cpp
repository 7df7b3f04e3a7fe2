#include "tool/file_work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool/tree_fixture.h"

namespace sallyport {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// A place with a secret beside it.
class FileWork : public testing::Test {
 protected:
  FileWork() {
    tree.write("secret", "SECRET");
    tree.write("data/a.csv", "1,2");
    tree.write("data/b.txt", "text");
    tree.write("data/sub/c.csv", "3,4");
    tree.write("data-secret/x", "SECRET");
    use("data", "");
  }

  void use(const std::string& place, const std::string& names) {
    order.places.clear();
    add(place, names);
  }
  void add(const std::string& place, const std::string& names) {
    order.places.push_back({.inside = tree / place, .names = names});
  }

  Result<json::object> read(const std::string& path) {
    order.path = path;
    return do_file_work(FileAction::read, order);
  }
  Result<json::object> write(const std::string& path, const std::string& content) {
    order.path = path;
    order.content = content;
    return do_file_work(FileAction::write, order);
  }
  Result<json::object> list(const std::string& path) {
    order.path = path;
    return do_file_work(FileAction::list, order);
  }
  std::vector<std::string> names(const std::string& path) {
    std::vector<std::string> list_of_names;
    const auto answer = list(path);
    EXPECT_TRUE(answer) << answer.error().message;
    if (answer)
      for (const json::value& entry : answer->at("entries").as_array())
        list_of_names.emplace_back(entry.at("name").as_string());
    return list_of_names;
  }

  // The path is refused by the tool, although any program that opens it gets the secret: the test
  // would notice a tool that reads.
  void expect_refused_where_cat_succeeds(const std::string& path, const std::string& file,
                                         const char* why) {
    EXPECT_THAT(tree.read(file), HasSubstr("SECRET")) << file;
    const auto answer = read(path);
    ASSERT_FALSE(answer) << json::serialize(*answer);
    EXPECT_THAT(answer.error().message, HasSubstr(why)) << path;
    EXPECT_EQ(answer.error().reason, Reason::argument);
  }

  TemporaryTree tree;
  FileOrder order;
};

TEST_F(FileWork, ReadsAFileByItsAbsoluteAndByItsRelativePath) {
  for (const std::string& path : {tree / "data/a.csv", std::string("a.csv")}) {
    const auto answer = read(path);
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->at("content"), "1,2");
    EXPECT_EQ(answer->at("size"), 3);
    EXPECT_EQ(answer->at("path").as_string(), tree / "data/a.csv");
    EXPECT_EQ(answer->at("truncated"), false);
    EXPECT_FALSE(answer->contains("next_offset"));
  }
  EXPECT_TRUE(read("sub/c.csv"));
}

TEST_F(FileWork, ReadsAPartAndSaysWhereToGoOn) {
  tree.write("data/long", "0123456789");
  order.offset = 2;
  order.length = 3;
  auto answer = read("long");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->at("content"), "234");
  EXPECT_EQ(answer->at("truncated"), true);
  EXPECT_EQ(answer->at("next_offset"), 5);
  order.offset = 99;
  answer = read("long");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->at("content"), "");
  EXPECT_EQ(answer->at("truncated"), false);
}

TEST_F(FileWork, GivesBytesThatAreNotTextInBase64) {
  tree.write("data/bin", std::string("\x00\xff\xfb", 3));
  EXPECT_EQ(read("bin")->at("base64"), "AP/7");
  EXPECT_FALSE(read("bin")->contains("content"));
}

TEST_F(FileWork, CutsBetweenCharactersAndNeverStandsStill) {
  tree.write("data/text", "aé日");
  order.length = 2;  // within é
  auto answer = read("text");
  EXPECT_EQ(answer->at("content"), "a");
  EXPECT_EQ(answer->at("next_offset"), 1);
  order.offset = 1;
  order.length = 1;  // half of é and nothing else
  answer = read("text");
  EXPECT_EQ(answer->at("base64"), "ww==");
  EXPECT_EQ(answer->at("next_offset"), 2);
}

TEST_F(FileWork, NeverAnswersMoreThanItMayHoweverTheBytesAreWritten) {
  order.max_answer = 1000;
  for (const std::string& content :
       {std::string(100'000, 'a'), std::string(100'000, '\x01'), std::string(100'000, '\xff'),
        std::string(100'000, '"'), std::string(990, 'a') + std::string(5000, '\x02')}) {
    tree.write("data/huge", content);
    std::uint64_t read_in_all = 0;
    for (int i = 0; i < 3; ++i) {
      order.offset = read_in_all;
      const auto answer = read("huge");
      ASSERT_TRUE(answer);
      EXPECT_LE(canonical_json(*answer).size(), 1000U);
      EXPECT_EQ(answer->at("truncated"), true);
      const auto next = static_cast<std::uint64_t>(answer->at("next_offset").as_int64());
      EXPECT_GT(next, read_in_all);
      read_in_all = next;
    }
  }
  order.max_answer = 10;
  EXPECT_FALSE(read("huge"));
}

TEST_F(FileWork, ReadsFromASparseFileOfATerabyte) {
  tree.write("data/sparse", "head");
  ASSERT_EQ(::truncate((tree / "data/sparse").c_str(), off_t{1} << 40), 0);
  order.length = 4;
  const auto answer = read("sparse");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->at("content"), "head");
  EXPECT_EQ(answer->at("size"), std::int64_t{1} << 40);
}

// ---- Ways out

TEST_F(FileWork, RefusesToLeaveThePlaceByItsText) {
  for (const std::string& path : {std::string("../secret"), std::string("sub/../../secret"),
                                  tree / "data/../secret", std::string("./../secret")})
    expect_refused_where_cat_succeeds(path, "data/../secret", "");
  expect_refused_where_cat_succeeds(tree / "secret", "secret", "not in a place");
  // A name that begins like the place is not in it.
  expect_refused_where_cat_succeeds(tree / "data-secret/x", "data-secret/x", "not in a place");
  for (const char* path : {"", ".", "..", "/", "//", "a.csv/", "/etc/passwd", "sub//c.csv",
                           "./a.csv", "sub/./c.csv", "~/x", "/proc/self/root/etc/passwd"})
    EXPECT_FALSE(read(path)) << path;
  EXPECT_FALSE(read(std::string("a.csv\0.txt", 10)));
  EXPECT_FALSE(read(std::string(5000, 'a')));
  EXPECT_FALSE(read("a\nb"));
}

TEST_F(FileWork, RefusesSymlinksWhereverTheyStandAndWhereverTheyLead) {
  tree.link("../secret", "data/link");
  tree.link(tree / "secret", "data/absolute");
  tree.link("..", "data/up");
  tree.link("a.csv", "data/harmless");
  tree.link("loop", "data/loop");
  expect_refused_where_cat_succeeds("link", "data/link", "symbolic link");
  expect_refused_where_cat_succeeds("absolute", "data/absolute", "symbolic link");
  expect_refused_where_cat_succeeds("up/secret", "data/up/secret", "symbolic link");
  EXPECT_FALSE(read("harmless"));
  EXPECT_FALSE(read("loop"));
}

TEST_F(FileWork, RefusesAFileWithASecondName) {
  ASSERT_EQ(::link((tree / "secret").c_str(), (tree / "data/hard").c_str()), 0);
  expect_refused_where_cat_succeeds("hard", "data/hard", "hard link");
  EXPECT_FALSE(write("hard", "x"));
  EXPECT_EQ(tree.read("secret"), "SECRET");
}

TEST_F(FileWork, RefusesAFifoWithoutWaitingForIt) {
  ASSERT_EQ(::mkfifo((tree / "data/fifo").c_str(), 0666), 0);
  EXPECT_THAT(read("fifo").error().message, HasSubstr("FIFO"));
  EXPECT_THAT(write("fifo", "x").error().message, HasSubstr("FIFO"));
}

TEST_F(FileWork, RefusesADirectoryAsAFile) {
  EXPECT_THAT(read("sub").error().message, HasSubstr("directory"));
  EXPECT_THAT(read(tree / "data").error().message, HasSubstr("directory"));
  EXPECT_FALSE(write("sub", "x"));
}

TEST_F(FileWork, SaysWhatAModelCanDoAboutAFileThatIsNotThere) {
  const auto answer = read("nope.csv");
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().message, HasSubstr("does not exist"));
  EXPECT_THAT(answer.error().hint, AllOf(HasSubstr("list_files"), HasSubstr(tree / "data")));
}

// ---- Globs

TEST_F(FileWork, HoldsNamesToTheGlobs) {
  use("data", "*.csv");
  EXPECT_TRUE(read("a.csv"));
  EXPECT_FALSE(read("b.txt"));
  EXPECT_FALSE(read("sub/c.csv"));
  EXPECT_FALSE(write("new.txt", "x"));
  EXPECT_TRUE(write("new.csv", "x"));
  add("data", "sub/**");
  EXPECT_TRUE(read("sub/c.csv"));
  EXPECT_FALSE(read("b.txt"));
}

TEST_F(FileWork, SaysNothingAboutFilesThatItsGlobsDoNotName) {
  use("data", "*.csv");
  const auto there = read("b.txt"), missing = read("q.txt");
  EXPECT_EQ(there.error().hint, missing.error().hint);
  EXPECT_THAT(there.error().message, HasSubstr("not one of the files"));
  EXPECT_THAT(missing.error().message, HasSubstr("not one of the files"));
}

TEST_F(FileWork, CannotBeLedPastAGlobByALinkedDirectory) {
  use("data", "public/**");
  tree.write("data/private/x", "SECRET");
  tree.write("data/public/y", "y");
  tree.link("../private", "data/public/in");
  expect_refused_where_cat_succeeds("public/in/x", "data/public/in/x", "symbolic link");
  expect_refused_where_cat_succeeds("private/x", "data/private/x", "not one of the files");
  EXPECT_FALSE(read("public/../private/x"));
  EXPECT_TRUE(read("public/y"));
}

TEST_F(FileWork, LetsTheDeepestPlaceDecide) {
  tree.write("data/inner/x.bin", "SECRET");
  add("data/inner", "*.txt");
  expect_refused_where_cat_succeeds(tree / "data/inner/x.bin", "data/inner/x.bin",
                                    "not one of the files");
  expect_refused_where_cat_succeeds("inner/x.bin", "data/inner/x.bin", "not one of the files");
  order.recursive = true;
  EXPECT_THAT(names(tree / "data"), ElementsAre("a.csv", "b.txt", "inner", "sub", "sub/c.csv"));
}

TEST_F(FileWork, ReadsAPlaceThatIsASingleFile) {
  use("data/a.csv", "");
  EXPECT_EQ(read(tree / "data/a.csv")->at("content"), "1,2");
  EXPECT_FALSE(read(tree / "data/b.txt"));
  EXPECT_FALSE(read(tree / "data/a.csv/x"));
  EXPECT_THAT(names(""), ElementsAre(tree / "data/a.csv"));
  EXPECT_FALSE(write(tree / "data/a.csv", "x"));
}

// ---- Writing

TEST_F(FileWork, WritesANewFileAndReplacesAnOldOne) {
  auto answer = write("new", "one");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->at("created"), true);
  EXPECT_EQ(tree.read("data/new"), "one");
  ASSERT_EQ(::chmod((tree / "data/new").c_str(), 0640), 0);
  answer = write(tree / "data/new", "second");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->at("created"), false);
  EXPECT_EQ(answer->at("size"), 6);
  EXPECT_EQ(tree.read("data/new"), "second");
  struct stat status{};
  ASSERT_EQ(::stat((tree / "data/new").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0640U);
  EXPECT_THAT(names(""), ElementsAre("a.csv", "b.txt", "new", "sub"));
}

TEST_F(FileWork, AppendsToAFileOrMakesIt) {
  order.append = true;
  EXPECT_EQ(write("log", "a")->at("created"), true);
  const auto answer = write("log", "b");
  EXPECT_EQ(answer->at("created"), false);
  EXPECT_EQ(answer->at("size"), 2);
  EXPECT_EQ(tree.read("data/log"), "ab");
}

TEST_F(FileWork, NeverWritesThroughALink) {
  tree.link("../secret", "data/link");
  tree.link("..", "data/up");
  tree.link("../made", "data/dangling");
  for (const char* path : {"link", "up/secret", "up/made", "dangling", "../made"})
    for (const bool append : {false, true}) {
      order.append = append;
      EXPECT_FALSE(write(path, "OWNED")) << path;
    }
  EXPECT_EQ(tree.read("secret"), "SECRET");
  EXPECT_FALSE(std::filesystem::exists(tree / "made"));
  EXPECT_TRUE(std::filesystem::is_symlink(tree / "data/link"));
}

TEST_F(FileWork, SaysWhichDirectoryIsMissing) {
  const auto written = write("sub/new/deep/x.csv", "1");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().reason, Reason::argument);
  EXPECT_THAT(written.error().message,
              AllOf(HasSubstr("there is no directory '" + (tree / "data/sub/new") + "'"),
                    HasSubstr("x.csv")));
  // What lies behind a link is not told.
  tree.link("../data-secret", "data/link");
  EXPECT_THAT(write("link/gone/x.csv", "1").error().message, Not(HasSubstr("gone'")));
}

TEST_F(FileWork, MakesNoDirectories) {
  const auto answer = write("new/deep/file", "x");
  ASSERT_FALSE(answer);
  EXPECT_FALSE(std::filesystem::exists(tree / "data/new"));
}

TEST_F(FileWork, NeedsAPlaceToWrite) {
  order.places.clear();
  EXPECT_THAT(write("x", "y").error().message, HasSubstr("nothing that this tool may write"));
  EXPECT_THAT(list("").error().message, HasSubstr("nothing that this tool may list"));
}

// ---- Listing

TEST_F(FileWork, ListsFilesAndDirectoriesInOrder) {
  auto answer = list("");
  ASSERT_TRUE(answer);
  EXPECT_EQ(json::serialize(answer->at("entries")),
            R"([{"name":"a.csv","type":"file","size":3},{"name":"b.txt","type":"file","size":4},)"
            R"({"name":"sub","type":"directory"}])");
  EXPECT_EQ(answer->at("truncated"), false);
  EXPECT_THAT(names("sub"), ElementsAre("c.csv"));
  EXPECT_THAT(names("sub/"), ElementsAre("c.csv"));
  EXPECT_THAT(names("."), ElementsAre("a.csv", "b.txt", "sub"));
  order.recursive = true;
  EXPECT_THAT(names(""), ElementsAre("a.csv", "b.txt", "sub", "sub/c.csv"));
}

TEST_F(FileWork, ListsOnlyWhatTheGlobsName) {
  use("data", "**/*.csv");
  tree.write("data/only/text.txt", "");
  EXPECT_THAT(names(""), ElementsAre("a.csv", "only", "sub"));
  use("data", "sub/*.csv");
  EXPECT_THAT(names(""), ElementsAre("sub"));
  EXPECT_THAT(list("only").error().message, HasSubstr("holds nothing"));
}

TEST_F(FileWork, CountsWhatIsNeitherFileNorDirectory) {
  tree.link("..", "data/up");
  ASSERT_EQ(::mkfifo((tree / "data/fifo").c_str(), 0666), 0);
  order.recursive = true;
  auto answer = list("");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->at("left_out"), 2);
  EXPECT_THAT(json::serialize(*answer), Not(HasSubstr("secret")));
  EXPECT_FALSE(list("up"));
  EXPECT_FALSE(list(".."));
  EXPECT_FALSE(list("a.csv"));
}

TEST_F(FileWork, ListsThePlacesWhenThereAreSeveral) {
  add("data-secret", "");
  for (const char* path : {"", ".", "/"})
    EXPECT_THAT(names(path), ElementsAre(tree / "data", tree / "data-secret"));
  EXPECT_THAT(names("sub"), ElementsAre("c.csv"));
}

TEST_F(FileWork, CutsAListingToTheSizeOfItsAnswer) {
  for (int i = 0; i < 300; ++i)
    tree.write("data/many/file" + std::to_string(i), "");
  order.max_answer = 2000;
  const auto answer = list("many");
  ASSERT_TRUE(answer);
  EXPECT_LE(canonical_json(*answer).size(), 2000U);
  EXPECT_EQ(answer->at("truncated"), true);
  EXPECT_THAT(answer->at("entries").as_array(), Not(IsEmpty()));
}

TEST_F(FileWork, ListsNamesThatAreNotTextAsText) {
  tree.write("data/odd/\xff\x1b", "");
  EXPECT_THAT(names("odd"), ElementsAre("\uFFFD\x1b"));
}

}  // namespace
}  // namespace sallyport
