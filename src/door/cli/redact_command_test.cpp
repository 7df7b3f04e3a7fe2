#include "door/cli/redact_command.h"

#include <gmock/gmock.h>

#include "base/file.h"
#include "redact/redact.h"

namespace sallyport {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(RedactCommand, ReadsItsOptions) {
  const char* words[] = {"--rules",        "secrets,emails", "--pattern", "a{3}",
                         "--pattern=b{3}", "--count",        "notes.txt"};
  const auto request = parse_redact_request(words);
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_THAT(request->rules, ElementsAre("secrets", "emails"));
  EXPECT_THAT(request->patterns, ElementsAre("a{3}", "b{3}"));
  EXPECT_TRUE(request->count);
  EXPECT_EQ(request->file, "notes.txt");
  const char* two[] = {"a", "b"};
  EXPECT_FALSE(parse_redact_request(two));
}

TEST(RedactCommand, HasADocumentThatListsEveryRule) {
  const auto document = read_file(SALLYPORT_SOURCE_DIR "/docs/redaction.md");
  ASSERT_TRUE(document);
  for (const RedactionRuleText& rule : redaction_rules())
    EXPECT_THAT(*document, HasSubstr("| `" + std::string(rule.id) + "` |")) << rule.what;
  EXPECT_THAT(redact_list_text(), HasSubstr("github-token"));
}

}  // namespace
}  // namespace sallyport
