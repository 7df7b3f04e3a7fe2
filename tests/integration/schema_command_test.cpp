// `sallyport schema validate` as a person calls it.
#include <gmock/gmock.h>

#include <filesystem>

#include "support/cell_runner.h"

namespace sallyport::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class SchemaValidate : public testing::Test {
 protected:
  Ran validate(const std::string& schema, const std::string& instance,
               std::vector<std::string> more = {}) {
    write_file(directory_ / "schema.json", schema);
    write_file(directory_ / "instance.json", instance);
    std::vector<std::string> argv = {sallyport_path(), "schema",     "validate",     "--schema",
                                     "schema.json",    "--instance", "instance.json"};
    argv.insert(argv.end(), more.begin(), more.end());
    return run(argv, RunOptions{.cwd = directory_.path()});
  }

  TempDir directory_;
};

TEST_F(SchemaValidate, EndsWith0WhenTheInstanceIsValid) {
  const Ran ran = validate(R"({"required":["a"]})", R"({"a":1})");
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.out, "valid\n");
}

TEST_F(SchemaValidate, EndsWith1AndThePlacesWhenItIsNot) {
  const Ran ran = validate(R"({"required":["a"],"properties":{"b":{"items":{"type":"string"}}}})",
                           R"({"b":["x",2]})");
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_THAT(ran.out, AllOf(HasSubstr("/b/1: must be a string, and is an integer "
                                       "(#/properties/b/items/type)\n"),
                             HasSubstr("(root): lacks the property 'a'")));
}

TEST_F(SchemaValidate, EndsWith1AndTheLineWhenTheInstanceIsNotPlainJson) {
  const Ran ran = validate("true", "{\n \"a\": 1,\n \"\\u0061\": 2}");
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_THAT(ran.out, AllOf(HasSubstr("line 3, column 2"), HasSubstr("given twice")));
}

TEST_F(SchemaValidate, EndsWith2WhenTheSchemaIsBad) {
  for (const char* schema : {R"({"type":"strin"})", "{", R"({"$ref":"http://localhost/x"})",
                             R"x({"pattern":"(?=a)"})x", R"({"type":"null","type":"string"})",
                             R"({"$schema":"http://json-schema.org/draft-04/schema#"})"}) {
    const Ran ran = validate(schema, "1");
    EXPECT_EQ(ran.exit_code, 2) << schema << ran.out;
    EXPECT_NE(ran.err, "");
    EXPECT_EQ(ran.out, "");
  }
}

TEST_F(SchemaValidate, NamesATypeThatThereIsNot) {
  const Ran ran = validate(R"({"type":"objekt"})", "1");
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, testing::AllOf(testing::HasSubstr("there is no type 'objekt'"),
                                      testing::HasSubstr("did you mean 'object'?")));
}

TEST_F(SchemaValidate, EndsWith2WhenTheRequestIsWrong) {
  EXPECT_EQ(run({sallyport_path(), "schema"}).exit_code, 2);
  EXPECT_EQ(run({sallyport_path(), "schema", "validate", "--schema", "/nonexistent", "--instance",
                 "/nonexistent"})
                .exit_code,
            2);
  EXPECT_EQ(run({sallyport_path(), "schema", "--help"}).exit_code, 0);
}

TEST_F(SchemaValidate, SaysItAsJson) {
  const auto answer = validate(R"({"type":"null"})", "1", {"--json"}).json();
  EXPECT_FALSE(answer.at("valid").as_bool());
  EXPECT_EQ(answer.at("violations").at(0).at("schema_place").as_string(), "#/type");
}

TEST_F(SchemaValidate, FollowsReferencesToFilesThatAreGiven) {
  std::filesystem::create_directory(directory_ / "defs");
  write_file(directory_ / "defs/name.json", R"({"type":"string","maxLength":3})");
  const std::string schema = R"({"$ref":"https://example.com/defs/name.json"})";
  EXPECT_EQ(validate(schema, R"("abc")").exit_code, 2);
  for (const char* resolve : {"https://example.com/defs=defs", "https://example.com/=.",
                              "https://example.com/defs/name.json=defs/name.json"}) {
    EXPECT_EQ(validate(schema, R"("abc")", {"--resolve", resolve}).exit_code, 0) << resolve;
    EXPECT_EQ(validate(schema, R"("abcd")", {"--resolve", resolve}).exit_code, 1) << resolve;
  }
}

}  // namespace
}  // namespace sallyport::test
