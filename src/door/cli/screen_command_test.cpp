#include "door/cli/screen_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace sallyport {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

Result<ScreenRequest> parse(std::vector<const char*> words) {
  return parse_screen_request(words);
}

TEST(ScreenRequest, TakesFilesAndOptionsInAnyOrder) {
  const auto request = parse({"a.py", "--json", "-", "b.js"});
  ASSERT_TRUE(request);
  EXPECT_TRUE(request->json);
  EXPECT_THAT(request->files, testing::ElementsAre("a.py", "-", "b.js"));
  EXPECT_EQ(parse({"--language", "bash", "x"})->language, Language::shell);
}

TEST(ScreenRequest, RefusesWhatItCannotDo) {
  EXPECT_FALSE(parse({}));
  EXPECT_FALSE(parse({"--json", "--sarif", "x.py"}));
  const auto cobol = parse({"--language", "cobol", "x"});
  ASSERT_FALSE(cobol);
  EXPECT_THAT(cobol.error().hint, HasSubstr("python, javascript, shell"));
}

TEST(ScreenJson, IsAnEmptyListForCleanCode) {
  const std::vector files{screen_file("x.py", "print(2 + 2)\n", Language::python)};
  EXPECT_EQ(json::serialize(screen_json(files)), "[]");
  EXPECT_EQ(screen_text(files), "clean\n");
}

TEST(ScreenJson, SaysWhereWhatAndWhy) {
  const std::vector files{
      screen_file("x.py", "import subprocess; subprocess.run(['ls'])\n", Language::python)};
  const json::array list = screen_json(files);
  ASSERT_FALSE(list.empty());
  for (const char* key : {"file", "line", "column", "category", "excerpt", "why", "allowed"})
    EXPECT_TRUE(list[0].as_object().contains(key)) << key;
  EXPECT_EQ(list[0].at("category").as_string(), "process");
  EXPECT_THAT(screen_text(files), HasSubstr("x.py:1:1: process: "));
}

TEST(ScreenJson, CountsASyntaxErrorAndARefusalAsFindings) {
  EXPECT_EQ(screen_file("x", "x = = 1", Language::python).findings.back().category, "syntax_error");
  EXPECT_EQ(screen_file("x", std::string(2 << 20, ' '), Language::shell).findings[0].category,
            "refused");
}

// Files with one finding each, in a line that tells which file it is.
class ScreenFiles : public testing::Test {
 protected:
  ScreenFiles() {
    std::string name = testing::TempDir() + "screen-XXXXXX";
    directory_ = ::mkdtemp(name.data());
    for (std::size_t i = 0; i < 40; ++i) {
      const std::string path = directory_ + "/" + std::to_string(i) + ".py";
      std::ofstream(path) << "import os" << std::string(i + 1, '\n') << "os.remove('x')\n";
      request_.files.push_back(path);
    }
  }
  ~ScreenFiles() override { std::filesystem::remove_all(directory_); }

  std::string directory_;
  ScreenRequest request_;
};

TEST_F(ScreenFiles, AreTheSameInTheSameOrderByAnyNumberOfThreads) {
  const auto alone = screen_files(request_, 1);
  ASSERT_TRUE(alone);
  ASSERT_THAT(*alone, SizeIs(40));
  for (std::size_t i = 0; i < alone->size(); ++i) {
    EXPECT_EQ((*alone)[i].path, request_.files[i]);
    ASSERT_FALSE((*alone)[i].findings.empty());
    EXPECT_EQ((*alone)[i].findings[0].line, i + 2);
  }
  for (const std::size_t threads : {0, 2, 8, 100}) {
    const auto together = screen_files(request_, threads);
    ASSERT_TRUE(together);
    EXPECT_EQ(screen_text(*together), screen_text(*alone)) << threads;
  }
}

TEST_F(ScreenFiles, OfWhichSomeCannotBeReadAreAnErrorOfTheFirst) {
  request_.files[20] = directory_ + "/missing.py";
  request_.files[21] = directory_ + "/missing, too.py";
  for (const std::size_t threads : {1, 8}) {
    const auto files = screen_files(request_, threads);
    ASSERT_FALSE(files);
    EXPECT_THAT(files.error().message, HasSubstr("missing.py"));
  }
}

TEST(ScreenSarif, HasARuleForEveryResult) {
  const std::vector files{screen_file("a b.py", "eval('1'); x = = 1", Language::python)};
  const json::object sarif = screen_sarif(files);
  EXPECT_EQ(sarif.at("version").as_string(), "2.1.0");
  const json::object& run = sarif.at("runs").as_array()[0].as_object();
  std::set<std::string> rules;
  for (const json::value& rule : run.at("tool").at("driver").at("rules").as_array())
    rules.emplace(rule.at("id").as_string());
  ASSERT_THAT(run.at("results").as_array(), SizeIs(2));
  for (const json::value& result : run.at("results").as_array()) {
    EXPECT_TRUE(rules.contains(std::string(result.at("ruleId").as_string())));
    const json::value& location = result.at("locations").as_array()[0].at("physicalLocation");
    EXPECT_EQ(location.at("artifactLocation").at("uri").as_string(), "a%20b.py");
    EXPECT_GE(location.at("region").at("startLine").to_number<int>(), 1);
  }
}

TEST(ScreeningDocument, ListsEveryCategory) {
  std::ifstream in(SALLYPORT_SOURCE_DIR "/docs/screening.md");
  std::ostringstream text;
  text << in.rdbuf();
  for (const ScreenCategory& row : kScreenCategories)
    EXPECT_THAT(text.str(),
                HasSubstr("| `" + std::string(row.name) + "` | " + std::string(row.what) + " |"));
}

}  // namespace
}  // namespace sallyport
