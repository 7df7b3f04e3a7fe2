#include "door/cli/lockout_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <filesystem>

#include "access/state_directory.h"

namespace sallyport {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::HasSubstr;

Result<LockoutRequest> parse(std::initializer_list<const char*> words) {
  return parse_lockout(std::span(words.begin(), words.size()));
}

TEST(LockoutCommand, ReadsItsWordsInAnyOrder) {
  EXPECT_EQ(parse({"list"})->verb, LockoutRequest::Verb::list);
  EXPECT_TRUE(parse({"list", "--json"})->json);
  EXPECT_TRUE(parse({"--json", "list"})->json);
  EXPECT_TRUE(parse({"lift", "--help"})->help);
  const auto lift = parse({"lift", "ann", "--state", "/srv/state"});
  ASSERT_TRUE(lift);
  EXPECT_EQ(lift->verb, LockoutRequest::Verb::lift);
  EXPECT_EQ(lift->who, "ann");
  EXPECT_EQ(lift->state, "/srv/state");
}

TEST(LockoutCommand, RefusesWhatItDoesNotKnow) {
  EXPECT_FALSE(parse({}));
  EXPECT_FALSE(parse({"lift"}));
  EXPECT_FALSE(parse({"lift", ""}));
  EXPECT_FALSE(parse({"lift", "ann", "bob"}));
  EXPECT_FALSE(parse({"lift", "ann", "--json"}));
  EXPECT_FALSE(parse({"list", "ann"}));
  EXPECT_FALSE(parse({"list", "--state"}));
  EXPECT_FALSE(parse({"list", "--state", "a", "--json", "--state", "b"}));
  EXPECT_FALSE(parse({"--json", "list", "--json"}));
  EXPECT_THAT(parse({"drop"}).error().message, HasSubstr("'drop'"));
}

TEST(LockoutCommand, ShowsWhoIsLockedOut) {
  const std::vector<LockedOut> list{
      {.who = "caller/a\x1b[2J", .until = std::chrono::days{20'000}, .denials = 10}};
  const Moment now = std::chrono::days{20'000} - 90s;
  EXPECT_EQ(lockout_text({}, now), "Nobody is locked out.\n");
  EXPECT_EQ(lockout_text(list, now),
            "caller/a\\x1b[2J  until 2024-10-04T00:00:00Z (90s more), after 10 denials\n");
  const auto object = boost::json::parse(lockout_json(list, now));
  const auto& entry = object.at("locked_out").at(0);
  EXPECT_EQ(entry.at("retry_after_ms"), 90'000);
  EXPECT_EQ(entry.at("until"), "2024-10-04T00:00:00Z");
  EXPECT_EQ(entry.at("denials"), 10);
}

TEST(LockoutCommand, LiftsALockOutOfTheStateDirectory) {
  std::string name = fs::temp_directory_path() / "sallyport-lockout-XXXXXX";
  const std::string path = ::mkdtemp(name.data());
  const auto directory = open_state_directory(path);
  ASSERT_TRUE(directory);
  const Lockout once{.after = 1, .within = 1min, .lasts = 1h};
  const auto ledger = directory_ledger(directory->get(), {.lockout = once});
  ASSERT_TRUE(ledger);
  (*ledger)->denied("ann", "203.0.113.7");
  ASSERT_EQ((*ledger)->locked_out()->size(), 2U);

  const auto run = [&](std::vector<const char*> words) {
    words.insert(words.end(), {"--state", path.c_str()});
    testing::internal::CaptureStdout();
    const int code = lockout_command(words);
    return std::pair(code, testing::internal::GetCapturedStdout());
  };
  EXPECT_THAT(run({"list"}).second, HasSubstr("caller/ann"));
  EXPECT_EQ(run({"lift", "ann"}).first, 0);
  EXPECT_EQ(run({"lift", "ann"}).first, 1);
  EXPECT_EQ(run({"lift", "address/203.0.113.7"}).first, 0);
  EXPECT_EQ(run({"list"}).second, "Nobody is locked out.\n");
  testing::internal::CaptureStderr();
  EXPECT_EQ(run({"lift"}).first, 2);
  fs::permissions(path, fs::perms{0777});
  EXPECT_EQ(run({"list"}).first, 125);
  (void)testing::internal::GetCapturedStderr();
  fs::remove_all(path);
}

}  // namespace
}  // namespace sallyport
