#include "door/cli/schema_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace sallyport {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

Result<SchemaRequest> parse(std::initializer_list<const char*> words) {
  return parse_schema_request(std::span(words.begin(), words.size()));
}

class SchemaFiles : public testing::Test {
 protected:
  SchemaFiles() {
    std::string pattern = fs::temp_directory_path() / "sallyport-schema-XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
  }
  ~SchemaFiles() override { fs::remove_all(directory_); }

  std::string write(const std::string& name, std::string_view text) {
    const fs::path path = directory_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return path;
  }

  fs::path directory_;
};

TEST(SchemaCommand, ReadsItsOptions) {
  const auto request = parse({"validate", "--schema", "s.json", "--instance=i.json", "--resolve",
                              "https://x/=dir", "--resolve", "urn:a=f=g", "--json"});
  ASSERT_TRUE(request);
  EXPECT_EQ(request->schema, "s.json");
  EXPECT_EQ(request->instance, "i.json");
  EXPECT_THAT(request->resolve, testing::ElementsAre(testing::Pair("https://x/", "dir"),
                                                     testing::Pair("urn:a", "f=g")));
  EXPECT_TRUE(request->json);
}

TEST(SchemaCommand, RefusesAWrongRequest) {
  EXPECT_THAT(parse({}).error().message, HasSubstr("what to do"));
  EXPECT_THAT(parse({"check"}).error().message, HasSubstr("'check'"));
  EXPECT_THAT(parse({"validate"}).error().message, HasSubstr("--schema"));
  EXPECT_THAT(parse({"validate", "--schema", "s"}).error().message, HasSubstr("--instance"));
  EXPECT_FALSE(parse({"validate", "--schema", "s", "--instance", "i", "more"}));
  EXPECT_FALSE(parse({"validate", "--schema", "s", "--schema", "t", "--instance", "i"}));
  for (const char* resolve : {"nothing", "=x", "u=", "u#f=x"})
    EXPECT_FALSE(parse({"validate", "--schema", "s", "--instance", "i", "--resolve", resolve}))
        << resolve;
  EXPECT_TRUE(parse({"--help"})->help);
  EXPECT_TRUE(parse({"validate", "--help"})->help);
}

TEST(SchemaCommand, SaysOnALineEachWhatIsWrong) {
  const std::vector<Violation> violations = {{"", "#/type", "must be null"},
                                             {"/a\n\x1b[2J", "#/x", "must \xff"}};
  EXPECT_EQ(violations_text(violations),
            "(root): must be null (#/type)\n/a\\n\\x1b[2J: must \\xff (#/x)\n");
  EXPECT_THAT(
      violations_json(violations),
      HasSubstr(R"({"valid":false,"violations":[{"instance_place":"","schema_place":"#/type",)"));
  EXPECT_EQ(violations_json({}), R"({"valid":true,"violations":[]})");
}

TEST_F(SchemaFiles, AreServedBelowTheirUri) {
  const std::string file = write("one.json", "{}");
  write("dir/a.json", "true");
  write("dir/deep/b.json", "false");
  write("dir/notes.txt", "not JSON");
  const auto documents = read_schema_documents(std::vector<std::pair<std::string, std::string>>{
      {"urn:one", file}, {"https://x", directory_ / "dir"}});
  ASSERT_TRUE(documents) << documents.error().message;
  std::vector<std::string> uris;
  for (const SchemaDocument& document : *documents)
    uris.push_back(document.uri);
  EXPECT_THAT(uris, testing::ElementsAre("urn:one", "https://x/a.json", "https://x/deep/b.json"));
}

TEST_F(SchemaFiles, AreRefusedWhenTheyAreNotJson) {
  const std::string bad = write("dir/bad.json", R"({"a":1,"a":2})");
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  EXPECT_THAT(read_schema_documents(Pairs{{"urn:a", bad}}).error().message,
              testing::AllOf(HasSubstr("bad.json"), HasSubstr("given twice")));
  EXPECT_FALSE(read_schema_documents(Pairs{{"urn:a", directory_ / "dir"}}));
  EXPECT_FALSE(read_schema_documents(Pairs{{"urn:a", directory_ / "missing"}}));
}

}  // namespace
}  // namespace sallyport
