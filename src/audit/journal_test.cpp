#include "audit/journal.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "base/fd.h"

namespace sallyport {
namespace {

namespace fs = std::filesystem;
using testing::MatchesRegex;

class FileJournal : public testing::Test {
 protected:
  FileJournal() {
    std::string name = fs::temp_directory_path() / "sallyport-audit-XXXXXX";
    path_ = ::mkdtemp(name.data());
    directory_ = Fd(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  ~FileJournal() override { fs::remove_all(path_); }

  std::unique_ptr<Journal> open() {
    auto journal = file_journal(directory_.get());
    EXPECT_TRUE(journal) << (journal ? "" : journal.error().message);
    return std::move(*journal);
  }
  std::vector<std::string> lines() {
    std::vector<std::string> all;
    std::ifstream file(path_ / "audit.jsonl");
    for (std::string line; std::getline(file, line);)
      all.push_back(line);
    return all;
  }
  std::string text() {
    std::ifstream file(path_ / "audit.jsonl", std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void append(std::string_view bytes) {
    std::ofstream(path_ / "audit.jsonl", std::ios::binary | std::ios::app) << bytes;
  }

  fs::path path_;
  Fd directory_;
};

TEST(NoJournal, TakesEverythingAndKeepsNothing) {
  EXPECT_TRUE(no_journal()->write({{"call", "1"}}));
}

TEST_F(FileJournal, WritesOneLinePerRecordWithItsTime) {
  const auto journal = open();
  ASSERT_TRUE(journal->write({{"event", "intent"}, {"tool", "a\nb"}}));
  ASSERT_TRUE(journal->write({{"event", "outcome"}, {"time", "yesterday"}}));
  const auto all = lines();
  ASSERT_EQ(all.size(), 2U);
  const auto first = json::parse(all[0]).as_object(), second = json::parse(all[1]).as_object();
  EXPECT_EQ(first.at("tool").as_string(), "a\nb");
  EXPECT_EQ(second.at("event").as_string(), "outcome");
  for (const auto& record : {first, second}) {
    EXPECT_EQ(record.begin()->key(), "time");
    EXPECT_THAT(std::string(record.at("time").as_string()),
                MatchesRegex("20[0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-9][0-9]:[0-9][0-9]:[0-9][0-9]"
                             "\\.[0-9][0-9][0-9][0-9][0-9][0-9]Z"));
  }
  EXPECT_EQ(fs::status(path_ / "audit.jsonl").permissions(), fs::perms{0600});
}

TEST_F(FileJournal, StaysJsonWhateverBytesARecordHolds) {
  ASSERT_TRUE(open()->write({{"output", "\xff\xfe\x80 \xed\xa0\x80"}}));
  boost::system::error_code wrong;
  EXPECT_TRUE(json::parse(lines().at(0), wrong).is_object());
  EXPECT_FALSE(wrong);
}

TEST_F(FileJournal, ClosesOffALineThatADeathLeftTorn) {
  const auto journal = open();
  ASSERT_TRUE(journal->write({{"n", 1}}));
  append(R"({"n": 2, "tor)");
  ASSERT_TRUE(journal->write({{"n", 3}}));
  const auto all = lines();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[1], R"({"n": 2, "tor)");
  EXPECT_EQ(json::parse(all[2]).at("n"), 3);
}

TEST_F(FileJournal, KeepsLinesWholeWhenThreadsAndProcessesWrite) {
  const auto shared = open();
  std::vector<pid_t> children;
  for (int child = 0; child < 4; ++child) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      const std::string filler(3000, static_cast<char>('a' + child));
      for (int i = 0; i < 25; ++i)
        if (!shared->write({{"who", child}, {"n", i}, {"filler", filler}})) ::_exit(1);
      ::_exit(0);
    }
    children.push_back(pid);
  }
  std::vector<std::thread> threads;
  for (int thread = 4; thread < 6; ++thread)
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 25; ++i)
        EXPECT_TRUE(shared->write({{"who", thread}, {"n", i}}));
    });
  for (std::thread& thread : threads)
    thread.join();
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  std::set<std::pair<std::int64_t, std::int64_t>> seen;
  for (const std::string& line : lines()) {
    const json::value record = json::parse(line);
    seen.emplace(record.at("who").as_int64(), record.at("n").as_int64());
  }
  EXPECT_EQ(lines().size(), 150U);
  EXPECT_EQ(seen.size(), 150U);
}

TEST_F(FileJournal, RefusesARecordThatDoesNotFitAndLeavesNoPartOfIt) {
  const auto journal = open();
  ASSERT_TRUE(journal->write({{"n", 1}}));
  const std::string before = text();
  const pid_t child = ::fork();
  if (child == 0) {
    // As a full disk: some bytes fit, the rest does not.
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{.rlim_cur = before.size() + 10, .rlim_max = before.size() + 10};
    if (::setrlimit(RLIMIT_FSIZE, &small) != 0) ::_exit(1);
    const auto written = journal->write({{"n", 2}});
    ::_exit(!written && written.error().reason == Reason::unavailable ? 0 : 2);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(text(), before);
  ASSERT_TRUE(journal->write({{"n", 3}})) << "it recovers by itself";
  EXPECT_EQ(lines().size(), 2U);
}

TEST_F(FileJournal, BeginsANewFileWhenTheOldOneWasMovedAway) {
  const auto journal = open();
  ASSERT_TRUE(journal->write({{"n", 1}}));
  fs::rename(path_ / "audit.jsonl", path_ / "audit.jsonl.1");
  ASSERT_TRUE(journal->write({{"n", 2}}));
  EXPECT_EQ(lines().size(), 1U);
}

TEST_F(FileJournal, FollowsNoLinkAndWritesToNothingThatOthersMayChange) {
  const fs::path file = path_ / "audit.jsonl";
  fs::create_symlink("/dev/null", file);
  EXPECT_FALSE(file_journal(directory_.get()));
  fs::remove(file);
  const auto journal = open();
  fs::permissions(file, fs::perms{0666});
  EXPECT_FALSE(journal->write({{"n", 1}}));
  EXPECT_FALSE(file_journal(directory_.get()));
  fs::remove(file);
  fs::create_directory(file);
  EXPECT_FALSE(journal->write({{"n", 1}}));
}

}  // namespace
}  // namespace sallyport
