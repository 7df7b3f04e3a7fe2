// The official test suite, from tests/data/json-schema-test-suite: every mandatory test of 2020-12.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "input/schema.h"

namespace sallyport {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFiles = 46, kTests = 1299;

const fs::path kSuite = fs::path(SALLYPORT_SOURCE_DIR) / "tests/data/json-schema-test-suite";

json::value read(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  auto value = parse_json(text.str());
  EXPECT_TRUE(value) << path << ": " << (value ? "" : value.error().message);
  return value.value_or(json::value());
}

std::vector<fs::path> list_files(const fs::path& directory) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(directory))
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

// The suite serves its remote documents at this address; nothing here does.
const SchemaOptions& options() {
  static const SchemaOptions options = [] {
    SchemaOptions made;
    for (const fs::path& path : list_files(kSuite / "remotes"))
      made.documents.push_back(
          {"http://localhost:1234/" + fs::relative(path, kSuite / "remotes").string(), read(path)});
    return made;
  }();
  return options;
}

// Every test of one file, with what is wrong with our verdict.
std::size_t run_file(const fs::path& path) {
  std::size_t tests = 0;
  for (const json::value& group : read(path).as_array()) {
    const auto schema = Schema::compile(group.at("schema"), options());
    for (const json::value& test : group.at("tests").as_array()) {
      ++tests;
      const std::string name = std::string(group.at("description").as_string()) + ": " +
                               std::string(test.at("description").as_string());
      if (!schema) {
        ADD_FAILURE() << name << ": " << schema.error().message;
        continue;
      }
      const bool valid = test.at("valid").as_bool();
      const auto violations = schema->check(test.at("data"));
      EXPECT_EQ(violations.empty(), valid)
          << (valid ? "false refusal: " : "FALSE ACCEPT: ") << name
          << (violations.empty() ? "" : ": " + violations.front().message);
      EXPECT_EQ(schema->accepts(test.at("data")), violations.empty()) << name;
    }
  }
  return tests;
}

class SchemaSuite : public testing::TestWithParam<std::string> {};

TEST_P(SchemaSuite, AgreesWithEveryTest) {
  EXPECT_GT(run_file(kSuite / "tests/draft2020-12" / (GetParam() + ".json")), 0U);
}

std::vector<std::string> names_of_files() {
  std::vector<std::string> names;
  for (const fs::path& path : list_files(kSuite / "tests/draft2020-12"))
    names.push_back(path.stem().string());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Draft202012, SchemaSuite, testing::ValuesIn(names_of_files()),
                         [](const auto& file) {
                           std::string name = file.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(SchemaSuite, IsThereAsAWhole) {
  const std::vector<fs::path> files = list_files(kSuite / "tests/draft2020-12");
  std::size_t tests = 0;
  for (const fs::path& path : files)
    for (const json::value& group : read(path).as_array())
      tests += group.at("tests").as_array().size();
  EXPECT_EQ(files.size(), kFiles);
  EXPECT_EQ(tests, kTests);
}

}  // namespace
}  // namespace sallyport
