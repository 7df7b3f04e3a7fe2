// `sallyport redact` as a person calls it.
#include <gmock/gmock.h>

#include "support/cell_runner.h"

namespace sallyport::test {
namespace {

using testing::HasSubstr;

Ran redact(const std::string& text, std::vector<std::string> options = {}) {
  options.insert(options.begin(), {sallyport_path(), "redact"});
  return run(options, RunOptions{.input = text});
}

TEST(RedactFilter, CopiesTextWithoutWhatMustNotLeave) {
  const Ran ran =
      redact("DB_PASSWORD=hunter2\n\x1b[31m/home/bob/x\x1b[0m 10.1.2.3 v1.2.3\n", {"--count"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.out,
            "DB_PASSWORD=[REDACTED_SECRET:password-assignment]\n[HOME_DIR]/x [IP_ADDR] v1.2.3\n");
  EXPECT_THAT(ran.err, HasSubstr("1 password-assignment"));
}

TEST(RedactFilter, TakesTheRulesThatAreAskedFor) {
  const Ran ran = redact("bob@example.com 10.1.2.3 ACME-1234",
                         {"--rules", "emails", "--pattern", "ACME-[0-9]{4}"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.out, "[EMAIL] 10.1.2.3 [REDACTED_SECRET:pattern-1]");
}

TEST(RedactFilter, RefusesWhatItDoesNotUnderstandAndCopiesNothing) {
  for (const std::vector<std::string>& options :
       {std::vector<std::string>{"--rules", "secret"}, {"--pattern", "a+"}, {"--nonsense"}}) {
    const Ran ran = redact("text", options);
    EXPECT_EQ(ran.exit_code, 2);
    EXPECT_EQ(ran.out, "");
    EXPECT_NE(ran.err, "");
  }
  EXPECT_EQ(redact("", {"/does/not/exist"}).exit_code, 1);
}

}  // namespace
}  // namespace sallyport::test
