#include "door/cli/diff_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "base/json.h"

namespace sallyport {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Result<DiffRequest> parse(std::initializer_list<const char*> words) {
  return parse_diff(std::span(words.begin(), words.size()));
}

struct Ran {
  int code;
  std::string out, err;
};

Ran run(std::initializer_list<const char*> words) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int code = diff_command(std::span(words.begin(), words.size()));
  return {code, testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
}

// A file with the text, for as long as the test runs.
class PolicyFile {
 public:
  explicit PolicyFile(std::string_view text) {
    const int fd = ::mkstemp(path_);
    EXPECT_EQ(::write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
    ::close(fd);
  }
  ~PolicyFile() { ::unlink(path_); }
  PolicyFile(const PolicyFile&) = delete;
  PolicyFile& operator=(const PolicyFile&) = delete;
  [[nodiscard]] const char* path() const { return path_; }

 private:
  char path_[32] = "/tmp/sallyport_diff_XXXXXX";
};

constexpr std::string_view kOld = R"(version: 1
roles: { worker: [execute:code] }
callers: { ann: { role: worker } }
tools:
  python: { use: run_python, needs: [execute:code], limits: { timeout: 30s } }
)";
constexpr std::string_view kNew = R"(version: 1
roles: { worker: [execute:code] }
callers: { ann: { role: worker } }
tools:
  python: { use: run_python, needs: [execute:code], limits: { timeout: 60s, memory: 128MiB } }
)";

TEST(DiffCommand, TakesTwoFiles) {
  EXPECT_EQ(parse({"a", "b"})->before, "a");
  EXPECT_EQ(parse({"a", "--json", "b"})->after, "b");
  EXPECT_FALSE(parse({"a"}));
  EXPECT_FALSE(parse({"a", "b", "c"}));
  EXPECT_FALSE(parse({}));
  EXPECT_TRUE(parse({"--help"})->help);
}

TEST(DiffCommand, TheExitCodeSaysWhetherSomethingBecamePossible) {
  const PolicyFile before(kOld), after(kNew);
  const Ran wider = run({before.path(), after.path()});
  EXPECT_EQ(wider.code, 1);
  EXPECT_THAT(wider.out, AllOf(HasSubstr("+ python: timeout 30s → 1min (wider)\n"),
                               HasSubstr("- python: memory 256MiB → 128MiB (narrower)\n"),
                               HasSubstr("1 wider, 1 narrower, 0 changed")));
  const Ran same = run({before.path(), before.path()});
  EXPECT_EQ(same.code, 0);
  EXPECT_THAT(same.out, HasSubstr("No difference"));
  EXPECT_EQ(run({before.path(), "/nonexistent"}).code, 2);
  EXPECT_EQ(run({"/nonexistent", before.path()}).code, 2);
}

TEST(DiffCommand, ANarrowerPolicyPasses) {
  const PolicyFile before(kOld), after(R"(version: 1
roles: { worker: [execute:code] }
callers: { ann: { role: worker } }
tools:
  python: { use: run_python, needs: [execute:code], limits: { timeout: 5s } }
)");
  EXPECT_EQ(run({before.path(), after.path()}).code, 0);
}

TEST(DiffCommand, TheJsonIsJson) {
  const PolicyFile before(kOld), after(kNew);
  const auto parsed = parse_json(run({before.path(), after.path(), "--json"}).out);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->at("may_allow_more"), true);
  EXPECT_EQ(parsed->at("changes").at(0).at("direction"), "wider");
  EXPECT_EQ(parsed->at("changes").at(0).at("tool"), "python");
}

TEST(DiffCommand, HelpNamesEveryMarkAndExitCode) {
  EXPECT_THAT(diff_help_text(), AllOf(HasSubstr("\n  + "), HasSubstr("\n  - "), HasSubstr("\n  ~ "),
                                      HasSubstr("\n  1 ")));
}

}  // namespace
}  // namespace sallyport
