#include "policy/file_schema.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "input/schema.h"
#include "policy/reading.h"
#include "policy/starter.h"
#include "policy/yaml.h"

namespace sallyport {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

json::value json_of(std::string_view yaml) {
  const auto root = parse_yaml(yaml, "f");
  if (!root) return nullptr;
  Notes notes;
  json::value meaning;
  return read_json(Spot(*root, notes, &meaning)).value_or(nullptr);
}

TEST(PolicySchema, AcceptsWhatTheLoaderLoads) {
  const auto schema = Schema::compile(policy_file_schema());
  ASSERT_TRUE(schema) << schema.error().message;
  std::vector<std::string> files = {starter_policy()};
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(SALLYPORT_SOURCE_DIR) + "/examples"))
    if (entry.path().extension() == ".yaml") files.push_back(text_of(entry.path()));
  for (const std::string& file : files)
    for (const Violation& violation : schema->check(json_of(file)))
      ADD_FAILURE() << violation.instance_place << ": " << violation.message;
}

TEST(PolicySchema, RefusesWhatAnEditorCanSee) {
  const auto schema = Schema::compile(policy_file_schema());
  ASSERT_TRUE(schema);
  for (const std::string_view file : {
           "roles: {}",
           "version: 2",
           "version: 1\nrolls: {}",
           "version: 1\ntools: {t: {run: [x]}}",
           "version: 1\ntools: {t: {run: [x], needs: [], limits: {timeout: 10}}}",
           "version: 1\ntools: {t: {run: [x], needs: [], limits: {memory: 256M}}}",
           "version: 1\ntools: {t: {run: [x], needs: [], rate: 10/m}}",
           "version: 1\ntools: {t: {use: run_pyton, needs: []}}",
           "version: 1\ncallers: {c: {roll: x}}",
       })
    EXPECT_FALSE(schema->accepts(json_of(file))) << file;
}

TEST(PolicyReference, IsWhatTheTablesSay) {
  const std::string path = std::string(SALLYPORT_SOURCE_DIR) + "/docs/policy-reference.md";
  if (std::getenv("SALLYPORT_WRITE_DOCS")) std::ofstream(path) << policy_reference();
  EXPECT_TRUE(text_of(path) == policy_reference())
      << "docs/policy-reference.md is not what the tables of the loader say. Write it anew with:\n"
         "  SALLYPORT_WRITE_DOCS=1 BUILD/bin/unit_tests --gtest_filter='PolicyReference.*'";
}

}  // namespace
}  // namespace sallyport
