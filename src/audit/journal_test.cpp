#include "audit/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <csignal>
#include <set>
#include <thread>

#include "audit/journal_fixture.h"
#include "audit/record_line.h"
#include "audit/verify.h"
#include "base/sha256.h"

namespace sallyport {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::MatchesRegex;

class AuditJournal : public JournalFixture {
 protected:
  // Each line names the one before by its hash.
  void expect_chain(const std::string& name = "t") {
    std::string before(64, '0');
    std::uint64_t seq = 0;
    for (unsigned number = 1; fs::exists(segment(number, name)); ++number) {
      std::ifstream file(segment(number, name));
      for (std::string line; std::getline(file, line); ++seq) {
        const auto view = read_record(line);
        ASSERT_TRUE(view) << line;
        EXPECT_EQ(view->seq, seq);
        EXPECT_EQ(view->prev, before);
        before = to_hex(leaf_hash(line));
      }
    }
  }
};

TEST(NoJournal, TakesEverythingAndKeepsNothing) {
  EXPECT_TRUE(no_journal()->write({{"call", "1"}}));
}

TEST_F(AuditJournal, WritesOneCanonicalLinePerRecordWithTimeAndPlace) {
  const auto journal = open();
  ASSERT_TRUE(journal->write({{"tool", "a\nb"}, {"record", "intent"}, {"tenant", "t"}}));
  ASSERT_TRUE(journal->write({{"record", "outcome"}, {"time", "yesterday"}, {"tenant", "t"}}));
  const auto all = records("t", true);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].at("record"), "segment");
  EXPECT_EQ(all[1].at("tool"), "a\nb");
  EXPECT_EQ(all[2].at("record"), "outcome");
  std::ifstream file(segment());
  for (std::string line; std::getline(file, line);)
    EXPECT_EQ(canonical_json(json::parse(line)), line);
  for (const auto& record : all)
    EXPECT_THAT(std::string(record.at("time").as_string()),
                MatchesRegex("20[0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-9][0-9]:[0-9][0-9]:[0-9][0-9]"
                             "\\.[0-9][0-9][0-9][0-9][0-9][0-9]Z"));
  expect_chain();
  for (const fs::path& path : {segment(), path_ / "audit-key", stream() / "lock"})
    EXPECT_EQ(fs::status(path).permissions(), fs::perms{0600}) << path;
  EXPECT_EQ(fs::status(stream()).permissions(), fs::perms{0700});
}

TEST_F(AuditJournal, IsQuickWhereTheDiskHasBeenAndNotBefore) {
  constexpr std::int64_t kHour = 3'600'000'000'000;
  EXPECT_TRUE(no_journal()->is_quick());
  const auto is_quick = [&](std::int64_t usual, int records) {
    const auto journal = open({.disk = {.usual_ns = usual, .most_ns = kHour, .proof = 4}});
    for (int i = 0; i < records; ++i)
      EXPECT_TRUE(journal->write(test_record("outcome", std::to_string(i), "acme")));
    return journal->is_quick();
  };
  EXPECT_FALSE(is_quick(kHour, 0));
  EXPECT_TRUE(is_quick(kHour, 4));
  EXPECT_FALSE(is_quick(0, 4));
}

TEST_F(AuditJournal, KeepsTenantsApartAndTheRecordsOfNobody) {
  const auto journal = open();
  ASSERT_TRUE(journal->write(test_record("outcome", "1", "acme")));
  ASSERT_TRUE(journal->write(test_record("outcome", "2", "beta")));
  ASSERT_TRUE(journal->write({{"record", "outcome"}, {"caller", "mallory"}}));
  EXPECT_EQ(records("acme").size(), 1U);
  EXPECT_EQ(records("beta").size(), 1U);
  EXPECT_EQ(records(std::string(kNobody)).at(0).at("caller"), "mallory");
  EXPECT_FALSE(journal->write(test_record("outcome", "3", "../beta")));
  EXPECT_FALSE(journal->write(test_record("outcome", "3", "a/b")));
}

TEST_F(AuditJournal, StaysJsonWhateverBytesARecordHolds) {
  ASSERT_TRUE(open()->write(
      {{"record", "outcome"}, {"tenant", "t"}, {"output", "\xff\xfe\x80 \xed\xa0\x80\x01"}}));
  EXPECT_EQ(records().size(), 1U);
  expect_chain();
}

TEST_F(AuditJournal, RefusesARecordThatNoReaderWouldTake) {
  const auto journal = open();
  EXPECT_FALSE(journal->write(
      {{"record", "x"}, {"tenant", "t"}, {"filler", std::string(kLongestRecord, 'x')}}));
  ASSERT_TRUE(journal->write(test_record("outcome", "1")));
  EXPECT_EQ(records().size(), 1U);
}

TEST_F(AuditJournal, CutsATornTailBackAndSaysSo) {
  const auto journal = open();
  ASSERT_TRUE(journal->write(test_record("outcome", "1")));
  const std::string torn = R"({"n": 2, "tor)";
  append(segment(), torn);
  ASSERT_TRUE(journal->write(test_record("outcome", "2"))) << "by a writer that is still there";
  append(segment(), torn);
  const auto after = open();
  const auto all = records();
  ASSERT_EQ(all.size(), 4U);
  for (const std::size_t at : {1U, 3U}) {
    EXPECT_EQ(all[at].at("record"), "recovered");
    EXPECT_EQ(all[at].at("bytes"), torn.size());
    EXPECT_EQ(all[at].at("sha256").as_string(), sha256_hex(torn));
  }
  expect_chain();
}

TEST_F(AuditJournal, CutsBackTheZerosThatALossOfPowerLeaves) {
  {
    ASSERT_TRUE(open()->write(test_record("outcome", "1")));
  }
  append(segment(), std::string(5000, '\0') + "\n" + std::string(100, '\0'));
  const auto journal = open();
  EXPECT_EQ(records().back().at("record"), "recovered");
  EXPECT_EQ(records().back().at("bytes"), 5101);
  expect_chain();
}

TEST_F(AuditJournal, RecoversAnEmptyOrTornNewSegment) {
  for (const std::string& start : {std::string(), std::string("{\"form")}) {
    fs::remove_all(path_ / "audit");
    fs::create_directories(stream());
    for (const fs::path& path : {path_ / "audit", stream()})
      fs::permissions(path, fs::perms{0700});
    write(segment(), start);
    fs::permissions(segment(), fs::perms{0600});
    ASSERT_TRUE(open()->write(test_record("outcome", "1")));
    EXPECT_EQ(records().back().at("call_id"), "1");
    expect_chain();
  }
}

TEST_F(AuditJournal, GivesEveryCallOfADeadWriterAnOutcome) {
  const auto alive = open();
  ASSERT_TRUE(alive->write(test_record("intent", "mine")));
  const pid_t child = ::fork();
  if (child == 0) {
    // Killed with calls in flight, in two streams.
    const auto journal = audit_journal(state(), {});
    for (const char* tenant : {"t", "u"})
      for (const char* id : {"1", "2"})
        if (!(*journal)->write(test_record("intent", id, tenant))) ::_exit(1);
    if (!(*journal)->write(test_record("outcome", "1"))) ::_exit(1);
    ::raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));

  const auto next = open();
  auto all = records();
  ASSERT_EQ(all.size(), 5U);
  EXPECT_EQ(all.back().at("record"), "outcome");
  EXPECT_EQ(all.back().at("call_id"), "2");
  EXPECT_EQ(all.back().at("status"), "error");
  EXPECT_EQ(all.back().at("reason"), "outcome_unknown");
  EXPECT_EQ(all.back().at("caller"), "ann");
  EXPECT_EQ(records("u").size(), 4U);
  // Not a second time, and not for the one that lives.
  (void)open();
  EXPECT_EQ(records().size(), 5U);
  ASSERT_TRUE(alive->write(test_record("outcome", "mine")));
  EXPECT_EQ(records().size(), 6U);
  expect_chain();
}

TEST_F(AuditJournal, FindsCallsOfTheDeadWithoutAHeadToo) {
  {
    const auto journal = open({.segment_bytes = 500});
    ASSERT_TRUE(journal->write(test_record("intent", "1")));
    for (int i = 0; i < 10; ++i)
      ASSERT_TRUE(journal->write(test_record("outcome", "x")));
  }
  fs::remove(stream() / "head");
  const auto journal = open();
  EXPECT_EQ(records().back().at("reason"), "outcome_unknown");
  EXPECT_EQ(records().back().at("call_id"), "1");
  expect_chain();
}

TEST_F(AuditJournal, IsSweptByALivingProcessWhenItTicks) {
  const auto journal = open();
  ASSERT_TRUE(journal->write(test_record("outcome", "0")));
  {
    const auto other = open();
    ASSERT_TRUE(other->write(test_record("intent", "1")));
  }
  journal->tick();
  EXPECT_EQ(records().back().at("reason"), "outcome_unknown");
}

TEST_F(AuditJournal, KeepsLinesWholeWhenThreadsAndProcessesWrite) {
  const auto shared = open({.segment_bytes = 20'000, .checkpoint_records = 7});
  std::vector<pid_t> children;
  for (int child = 0; child < 4; ++child) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      const std::string filler(3000, static_cast<char>('a' + child));
      for (int i = 0; i < 25; ++i) {
        json::object record = test_record("outcome", "x");
        record["who"] = child;
        record["n"] = i;
        record["filler"] = filler;
        if (!shared->write(std::move(record))) ::_exit(1);
      }
      ::_exit(0);
    }
    children.push_back(pid);
  }
  std::vector<std::thread> threads;
  for (int thread = 4; thread < 10; ++thread)
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 25; ++i) {
        json::object record = test_record("outcome", "x");
        record["who"] = thread;
        record["n"] = i;
        EXPECT_TRUE(shared->write(std::move(record)));
      }
    });
  for (std::thread& thread : threads)
    thread.join();
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  std::set<std::pair<std::int64_t, std::int64_t>> seen;
  const auto all = records();
  for (const json::object& record : all)
    seen.emplace(record.at("who").as_int64(), record.at("n").as_int64());
  EXPECT_EQ(all.size(), 250U);
  EXPECT_EQ(seen.size(), 250U);
  expect_chain();
}

TEST_F(AuditJournal, SurvivesTheDeathOfWritersAtAnyMoment) {
  // Each child is killed by a clock of its own in the midst of its writes.
  for (int round = 0; round < 15; ++round) {
    const pid_t child = ::fork();
    if (child == 0) {
      const auto journal = audit_journal(state(), {.segment_bytes = 3000, .checkpoint_records = 3});
      if (!journal) ::_exit(1);
      ::ualarm(static_cast<useconds_t>(2000 + 700 * round), 0);
      for (int i = 0; true; ++i) {
        const std::string id = std::to_string(round) + "-" + std::to_string(i);
        if (!(*journal)->write(test_record("intent", id)) ||
            !(*journal)->write(test_record("outcome", id)))
          ::_exit(1);
      }
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) << status;
  }
  const auto journal = open();
  std::map<std::string, int> open_calls;
  for (const json::object& record : records()) {
    const std::string id(record.contains("call_id") ? record.at("call_id").as_string() : "");
    if (record.at("record") == "intent") ++open_calls[id];
    if (record.at("record") == "outcome") --open_calls[id];
  }
  for (const auto& [id, count] : open_calls)
    EXPECT_EQ(count, 0) << id;
  expect_chain();
}

TEST_F(AuditJournal, RefusesARecordThatDoesNotFitAndLeavesNoPartOfIt) {
  const auto journal = open();
  ASSERT_TRUE(journal->write(test_record("intent", "1")));
  const std::string before = read(segment());
  const pid_t child = ::fork();
  if (child == 0) {
    // As a full disk: some bytes fit, the rest does not.
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{.rlim_cur = before.size() + 10, .rlim_max = before.size() + 10};
    if (::setrlimit(RLIMIT_FSIZE, &small) != 0) ::_exit(1);
    const auto written = journal->write(test_record("intent", "2"));
    ::_exit(!written && written.error().reason == Reason::unavailable ? 0 : 2);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(read(segment()), before);
  ASSERT_TRUE(journal->write(test_record("outcome", "1"))) << "it recovers by itself";
  EXPECT_EQ(records().size(), 2U);
}

TEST_F(AuditJournal, WritesOutcomesThatDidNotFitAsSoonAsTheyDo) {
  const auto journal = open();
  ASSERT_TRUE(journal->write(test_record("intent", "1")));
  const std::string before = read(segment());
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{.rlim_cur = before.size(), .rlim_max = old.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  EXPECT_FALSE(journal->write(test_record("outcome", "1")));
  EXPECT_FALSE(journal->write(test_record("intent", "2")));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old), 0);
  std::signal(SIGXFSZ, handler);
  ASSERT_TRUE(journal->write(test_record("intent", "3")));
  const auto all = records();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[1].at("record"), "outcome");
  EXPECT_EQ(all[1].at("call_id"), "1");
  EXPECT_EQ(all[2].at("call_id"), "3");
  expect_chain();
}

TEST_F(AuditJournal, RotatesAndGoesOnAcrossSegments) {
  {
    const auto journal = open({.segment_bytes = 1000});
    for (int i = 0; i < 50; ++i)
      ASSERT_TRUE(journal->write(test_record("outcome", std::to_string(i))));
  }
  EXPECT_TRUE(fs::exists(segment(5)));
  const auto journal = open({.segment_bytes = 1000});
  ASSERT_TRUE(journal->write(test_record("outcome", "last")));
  EXPECT_EQ(records().size(), 51U);
  expect_chain();
}

TEST_F(AuditJournal, GoesOnWhenAWriterDiedBetweenTwoSegments) {
  {
    const auto journal = open({.segment_bytes = 500});
    for (int i = 0; i < 3; ++i)
      ASSERT_TRUE(journal->write(test_record("outcome", std::to_string(i))));
  }
  // The first is closed, the second was not made: nothing signed is lost.
  ASSERT_TRUE(fs::exists(segment(2)));
  fs::remove(segment(2));
  fs::remove(stream() / "head");
  const fs::path notes = stream() / "checkpoints";
  write(notes, split_notes(read(notes)).value().front() + "\n");
  ASSERT_TRUE(open()->write(test_record("outcome", "next")));
  EXPECT_EQ(records().back().at("call_id"), "next");
  expect_chain();
}

TEST_F(AuditJournal, RefusesToGoOnWithALogThatWasChanged) {
  {
    const auto journal = open({.segment_bytes = 500});
    for (int i = 0; i < 5; ++i)
      ASSERT_TRUE(journal->write(test_record("outcome", std::to_string(i))));
  }
  const auto refused = [&](const char* how) {
    const auto written = open()->write(test_record("outcome", "next"));
    EXPECT_FALSE(written) << how;
    if (!written) {
      EXPECT_EQ(written.error().reason, Reason::unavailable);
    }
    ASSERT_TRUE(open()->write(test_record("outcome", "other", "other"))) << "others go on";
  };
  fs::copy(stream(), path_ / "good");
  const auto restore = [&] {
    fs::remove_all(stream());
    fs::copy(path_ / "good", stream());
    fs::permissions(stream(), fs::perms{0700});
  };
  unsigned last = 1;
  while (fs::exists(segment(last + 1)))
    ++last;
  fs::remove(segment(last));
  refused("the last segment is gone");
  restore();
  write(segment(last), read(segment(last)).substr(0, 300));
  refused("cut back");
  restore();
  fs::remove(stream() / "head");
  std::string text = read(segment(1));
  text[text.find("hello")] = 'H';
  write(segment(1), text);
  refused("changed, and read because there is no head");
  restore();
  fs::remove(stream() / "head");
  fs::remove(segment(1));
  refused("the first segment is gone");
  restore();
  fs::remove(stream() / "checkpoints");
  refused("its checkpoints are gone");
  fs::remove(stream() / "head");
  refused("its checkpoints are gone, and nobody remembers how far they went");
  restore();
  EXPECT_TRUE(open()->write(test_record("outcome", "next")));
}

TEST_F(AuditJournal, WritesSeveralRecordsAtOnceEachIntoItsStream) {
  const auto journal = open();
  std::vector<json::object> some;
  for (const char* tenant : {"t", "u", "t", "a/b", "t"})
    some.push_back(test_record("outcome", std::to_string(some.size()), tenant));
  const auto written = journal->write_all(std::move(some));
  ASSERT_EQ(written.size(), 5U);
  for (std::size_t i = 0; i < written.size(); ++i)
    EXPECT_EQ(written[i].has_value(), i != 3) << i;
  ASSERT_EQ(records().size(), 3U);
  EXPECT_EQ(records()[0].at("call_id"), "0");
  EXPECT_EQ(records()[2].at("call_id"), "4");
  EXPECT_EQ(records("u").size(), 1U);
  EXPECT_TRUE(journal->write_all({}).empty());
  expect_chain();
}

TEST_F(AuditJournal, ListsEachStreamOnceInTheStreamOfNobody) {
  for (int i = 0; i < 2; ++i) {
    const auto journal = open();
    ASSERT_TRUE(journal->write(test_record("outcome", "1", "acme")));
    ASSERT_TRUE(journal->write(test_record("outcome", "2", "beta")));
  }
  std::vector<std::string> listed;
  for (const json::object& record : records(std::string(kNobody), true))
    if (record.at("record") == "stream") listed.emplace_back(record.at("stream").as_string());
  EXPECT_THAT(listed, testing::ElementsAre("acme", "beta"));
}

TEST_F(AuditJournal, MakesCheckpointsAtIntervalsAndAtItsEnd) {
  const fs::path outside = path_ / "outside";
  std::vector<std::string> sent;
  {
    const auto journal = open({.checkpoint_records = 4,
                               .checkpoint_interval = std::chrono::hours{1},
                               .outside_file = outside,
                               .on_checkpoint = [&](const std::string& name, const std::string&) {
                                 if (name == "t") sent.push_back(name);
                               }});
    for (int i = 0; i < 10; ++i)
      ASSERT_TRUE(journal->write(test_record("outcome", std::to_string(i))));
    EXPECT_EQ(sent.size(), 3U);  // the first of them when the stream was made
  }
  EXPECT_EQ(sent.size(), 4U);
  std::string own;
  const auto outside_notes = split_notes(read(outside)).value();
  for (const std::string& note : outside_notes)
    if (note.starts_with("sallyport-audit/t\n")) own += note + "\n";
  EXPECT_EQ(own, read(stream() / "checkpoints"));
  EXPECT_THAT(read(outside), HasSubstr("sallyport-audit/t\n11\n"));
  {
    const auto journal = open({.checkpoint_interval = std::chrono::milliseconds{0}});
    ASSERT_TRUE(journal->write(test_record("outcome", "more")));
    EXPECT_THAT(read(stream() / "checkpoints"), HasSubstr("sallyport-audit/t\n12\n"));
  }
}

TEST_F(AuditJournal, CutsBackACheckpointThatADeathLeftTorn) {
  {
    ASSERT_TRUE(open()->write(test_record("outcome", "1")));
  }
  const std::string first = read(stream() / "checkpoints");
  const std::string last = first.substr(first.rfind("sallyport-audit/"));
  for (std::size_t size = 0; size < last.size(); size += 13) {
    write(stream() / "checkpoints", first + last.substr(0, size));
    {
      ASSERT_TRUE(open()->write(test_record("outcome", "2")));
    }
    const std::string all = read(stream() / "checkpoints");
    EXPECT_TRUE(all.starts_with(first + "sallyport-audit/t\n")) << size;
    EXPECT_EQ(all.rfind("sallyport-audit/"), first.size()) << size;
  }
}

TEST_F(AuditJournal, FollowsNoLinkAndWritesToNothingThatOthersMayChange) {
  fs::create_symlink("/dev/null", path_ / "audit");
  EXPECT_FALSE(audit_journal(state(), {}));
  fs::remove(path_ / "audit");
  write(path_ / "audit", "");
  EXPECT_FALSE(audit_journal(state(), {})) << "a file in the place of the directory";
  fs::remove(path_ / "audit");
  const auto journal = open();
  ASSERT_TRUE(journal->write(test_record("outcome", "1")));
  fs::permissions(segment(), fs::perms{0666});
  EXPECT_FALSE(open()->write(test_record("outcome", "1")));
  fs::permissions(path_ / "audit", fs::perms{0777});
  EXPECT_FALSE(audit_journal(state(), {}));
}

TEST_F(AuditJournal, NeverMakesANewKeyInSilence) {
  {
    ASSERT_TRUE(open()->write(test_record("outcome", "1")));
  }
  fs::remove(path_ / "audit-key");
  const auto refused = audit_journal(state(), {});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("audit-key is gone"));
  write(path_ / "audit-key", "nonsense");
  fs::permissions(path_ / "audit-key", fs::perms{0600});
  EXPECT_FALSE(audit_journal(state(), {}));
}

TEST_F(AuditJournal, RecoversFromAFullDisk) {
  ASSERT_EQ(::mount("tmpfs", path_.c_str(), "tmpfs", 0, "size=128k,mode=0700"), 0)
      << "the tests run as root";
  directory_ = Fd(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  {
    const auto journal = open({.segment_bytes = 8000, .checkpoint_records = 5});
    std::string filler(900, 'x');
    int written = 0;
    Result<void> refused;
    while (refused) {
      json::object record = test_record("outcome", std::to_string(written));
      record["filler"] = filler;
      refused = journal->write(std::move(record));
      if (refused) ++written;
    }
    EXPECT_EQ(refused.error().reason, Reason::unavailable);
    EXPECT_THAT(refused.error().hint, HasSubstr("make room"));
    EXPECT_GT(written, 20);
    expect_chain();
    EXPECT_FALSE(journal->write({{"record", "intent"}, {"tenant", "t"}, {"filler", filler}}));
    // Somebody makes room.
    ASSERT_EQ(::mount("tmpfs", path_.c_str(), "tmpfs", MS_REMOUNT, "size=512k,mode=0700"), 0);
    ASSERT_TRUE(journal->write(test_record("outcome", "after")));
    EXPECT_EQ(records().size(), static_cast<std::size_t>(written) + 2)
        << "with the outcome that did not fit";
    expect_chain();
  }
  expect_chain();
  directory_.reset();
  ASSERT_EQ(::umount2(path_.c_str(), MNT_DETACH), 0);
}

}  // namespace
}  // namespace sallyport
