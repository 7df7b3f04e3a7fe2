#include "audit/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "audit/journal_fixture.h"
#include "audit/record_line.h"

namespace sallyport {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class AuditVerify : public JournalFixture {
 protected:
  // A small log of several segments with a checkpoint every third record and one at its end.
  void write_log(int calls = 4) {
    const auto journal = open({.segment_bytes = 700, .checkpoint_records = 3});
    for (int i = 0; i < calls; ++i) {
      ASSERT_TRUE(journal->write(test_record("intent", std::to_string(i))));
      ASSERT_TRUE(journal->write(test_record("outcome", std::to_string(i))));
    }
  }
  StreamReport verify(const VerifyOptions& options = {}) {
    auto report = verify_audit(state(), options);
    if (!report) {
      ADD_FAILURE() << report.error().message;
      return {};
    }
    const auto own = std::ranges::find_if(report->streams,
                                          [](const auto& each) { return each.stream != kNobody; });
    EXPECT_NE(own, report->streams.end());
    return own == report->streams.end() ? StreamReport() : *own;
  }
  // All segments as lines, and back.
  std::vector<std::vector<std::string>> lines() {
    std::vector<std::vector<std::string>> all;
    for (unsigned number = 1; fs::exists(segment(number)); ++number) {
      std::ifstream file(segment(number));
      all.emplace_back();
      for (std::string line; std::getline(file, line);)
        all.back().push_back(line);
    }
    return all;
  }
  void write_lines(const std::vector<std::vector<std::string>>& all) {
    for (unsigned number = 1; number <= all.size(); ++number) {
      std::string text;
      for (const std::string& line : all[number - 1])
        text += line + "\n";
      write(segment(number), text);
    }
  }
};

TEST_F(AuditVerify, FindsAGoodLogGood) {
  write_log(20);
  const StreamReport report = verify();
  EXPECT_FALSE(report.bad) << report.bad->what;
  EXPECT_GE(report.records, 40U);
  EXPECT_EQ(report.covered, report.records);
  EXPECT_GT(report.segments, 5U);
  EXPECT_GT(report.checkpoints, 10U);
  EXPECT_EQ(report.torn_bytes, 0U);
}

TEST_F(AuditVerify, FindsAndNamesEverySingleByteThatIsFlipped) {
  write_log(3);
  std::uint64_t seq = 0;
  unsigned number = 1;
  for (; fs::exists(segment(number)); ++number) {
    const std::string good = read(segment(number));
    for (std::size_t at = 0; at < good.size(); ++at) {
      const char bad = static_cast<char>(good[at] ^ (1 << at % 8));
      poke(segment(number), at, bad);
      const StreamReport report = verify();
      ASSERT_TRUE(report.bad) << segment(number) << " at " << at;
      ASSERT_EQ(report.bad->seq, seq) << at << ": " << report.bad->what;
      ASSERT_EQ(report.bad->file, segment_name(number));
      if (good[at] == '\n') ++seq;
      poke(segment(number), at, good[at]);
    }
  }
  EXPECT_GE(number, 4U) << "several segments";

  const fs::path notes = stream() / "checkpoints";
  const std::string good = read(notes);
  std::uint64_t note = 1;
  for (std::size_t at = 0; at < good.size(); ++at) {
    poke(notes, at, static_cast<char>(good[at] ^ (1 << at % 8)));
    const StreamReport report = verify();
    ASSERT_TRUE(report.bad) << "checkpoints at " << at;
    ASSERT_EQ(report.bad->file, "checkpoints") << report.bad->what;
    ASSERT_EQ(report.bad->line, note) << at << ": " << report.bad->what;
    if (good.substr(0, at + 1).ends_with("=\n\n")) ++note;
    poke(notes, at, good[at]);
  }
  EXPECT_GT(note, 2U);
  EXPECT_FALSE(verify().bad);
}

TEST_F(AuditVerify, FindsEveryTruncationGivenTheLastCheckpoint) {
  write_log(3);
  const std::string notes = read(stream() / "checkpoints");
  const auto kept = split_notes(notes);
  ASSERT_TRUE(kept);
  const std::string last = kept->back();
  unsigned number = 1;
  while (fs::exists(segment(number + 1)))
    ++number;
  for (; number > 0; --number) {
    const std::string good = read(segment(number));
    for (std::size_t size = good.size(); size-- > 0;) {
      fs::resize_file(segment(number), size);
      const StreamReport inside = verify();
      ASSERT_TRUE(inside.bad) << number << " cut to " << size;
      // The one who cut it took the checkpoints along; the last one is elsewhere.
      if (size % 20 != 0) continue;
      fs::remove(stream() / "checkpoints");
      const StreamReport report = verify({.outside = {last}});
      ASSERT_TRUE(report.bad) << number << " cut to " << size;
      EXPECT_EQ(report.bad->seq, inside.bad->seq);
      write(stream() / "checkpoints", notes);
      fs::permissions(stream() / "checkpoints", fs::perms{0600});
    }
    fs::remove(segment(number));
    ASSERT_TRUE(verify().bad);
  }
  fs::remove_all(stream());
  const auto gone = verify_audit(state(), {.outside = {last}});
  ASSERT_TRUE(gone);
  EXPECT_FALSE(gone->good());
}

TEST_F(AuditVerify, NamesWhatWasRemovedPutInOrMoved) {
  write_log(6);
  const auto good = lines();
  ASSERT_GE(good.size(), 4U);
  std::uint64_t seq = 0;
  for (std::size_t file = 0; file < good.size(); ++file)
    for (std::size_t at = 0; at < good[file].size(); ++at, ++seq) {
      auto removed = good;
      removed[file].erase(removed[file].begin() + static_cast<long>(at));
      write_lines(removed);
      StreamReport report = verify();
      ASSERT_TRUE(report.bad);
      EXPECT_EQ(report.bad->seq, seq) << "removed: " << report.bad->what;

      auto twice = good;
      twice[file].insert(twice[file].begin() + static_cast<long>(at), good[file][at]);
      write_lines(twice);
      report = verify();
      ASSERT_TRUE(report.bad);
      EXPECT_EQ(report.bad->seq, seq + 1) << "twice: " << report.bad->what;

      if (at + 1 == good[file].size()) continue;
      auto moved = good;
      std::swap(moved[file][at], moved[file][at + 1]);
      write_lines(moved);
      report = verify();
      ASSERT_TRUE(report.bad);
      EXPECT_EQ(report.bad->seq, seq) << "moved: " << report.bad->what;
    }
  for (unsigned number = 1; number <= good.size(); ++number) {
    write_lines(good);
    fs::remove(segment(number));
    ASSERT_TRUE(verify().bad) << number;
    EXPECT_EQ(verify().bad->file, segment_name(number < good.size() ? number : number - 1));
  }
}

TEST_F(AuditVerify, FindsARewrittenChainByItsCheckpoints) {
  write_log(6);
  auto all = lines();
  // Someone without the key changes a record and mends every hash behind it.
  const std::size_t changed = 3;
  std::size_t seq = 0;
  std::string last(64, '0');
  for (auto& file : all)
    for (std::string& line : file) {
      json::object record = json::parse(line).as_object();
      if (seq++ == changed) record["caller"] = "eve";
      record["prev"] = last;
      line = canonical_json(record);
      last = to_hex(leaf_hash(line));
    }
  write_lines(all);
  const StreamReport report = verify();
  ASSERT_TRUE(report.bad);
  EXPECT_LE(report.bad->from, changed);
  EXPECT_LE(report.bad->seq, changed);
  EXPECT_THAT(report.bad->what, HasSubstr("rewritten"));
}

TEST_F(AuditVerify, FindsCheckpointsThatAreMissingMovedOrOfAnother) {
  write_log(6);
  const fs::path notes = stream() / "checkpoints";
  const std::string good = read(notes);
  const auto all = split_notes(good);
  ASSERT_TRUE(all);
  ASSERT_GE(all->size(), 4U);
  for (std::size_t gone = 0; gone + 1 < all->size(); ++gone) {
    std::string text;
    for (std::size_t i = 0; i < all->size(); ++i)
      if (i != gone) text += (*all)[i] + "\n";
    write(notes, text);
    const StreamReport report = verify();
    ASSERT_TRUE(report.bad);
    EXPECT_EQ(report.bad->line, gone + 1);
  }
  write(notes, good + "\n");
  EXPECT_TRUE(verify().bad);
  write(notes, good);
  // A stream under the name of another.
  fs::rename(stream(), stream("u"));
  EXPECT_THAT(verify().bad->what, HasSubstr("'t'"));
}

TEST_F(AuditVerify, FindsThatAllCheckpointsAreGone) {
  write_log(6);
  fs::remove(stream() / "checkpoints");
  EXPECT_THAT(verify().bad->what, HasSubstr("checkpoints"));
  write(stream() / "checkpoints", "");
  EXPECT_THAT(verify().bad->what, HasSubstr("checkpoints"));
}

TEST_F(AuditVerify, FindsAStreamThatWasTakenAwayOrBegunAnew) {
  {
    const auto journal = open();
    for (const char* tenant : {"acme", "beta"})
      ASSERT_TRUE(journal->write(test_record("outcome", "1", tenant)));
  }
  const auto bad = [this] {
    std::map<std::string, std::string> streams;
    const auto report = verify_audit(state(), {});
    for (const StreamReport& stream : report.value().streams)
      if (stream.bad) streams[stream.stream] = stream.bad->what;
    return streams;
  };
  ASSERT_TRUE(bad().empty());
  fs::rename(stream("acme"), path_ / "kept");
  EXPECT_THAT(bad(), testing::ElementsAre(testing::Pair("acme", HasSubstr("gone"))));
  // Nothing in it is as good as no directory.
  fs::create_directory(stream("acme"));
  fs::permissions(stream("acme"), fs::perms::owner_all);
  EXPECT_THAT(bad(), testing::ElementsAre(testing::Pair("acme", HasSubstr("gone"))));
  ASSERT_TRUE(open()->write(test_record("outcome", "2", "acme")));
  EXPECT_THAT(bad(), testing::ElementsAre(testing::Pair("acme", HasSubstr("begun anew"))));
  fs::remove_all(stream("acme"));
  fs::rename(path_ / "kept", stream("acme"));
  // The second one is listed too, and it is gone now.
  EXPECT_EQ(bad().count("acme"), 1U);
  EXPECT_EQ(bad().count("beta"), 0U);
  fs::remove_all(stream(std::string(kNobody)));
  EXPECT_THAT(bad()[std::string(kNobody)], HasSubstr("gone"));
}

TEST_F(AuditVerify, TakesNoOtherKey) {
  write_log();
  auto other = SigningKey::make();
  ASSERT_TRUE(other);
  EXPECT_TRUE(verify({.key = other->verifying()}).bad);
  auto own = read_verifying_key(state());
  ASSERT_TRUE(own);
  EXPECT_FALSE(verify({.key = *own}).bad);
  // A changed key file is refused or finds every checkpoint forged.
  const std::string good = read(path_ / "audit-key.pub");
  for (std::size_t at = 0; at + 1 < good.size(); at += 5) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 1);
    write(path_ / "audit-key.pub", bad);
    const auto report = verify_audit(state(), {});
    EXPECT_TRUE(!report || !report->good()) << at;
  }
}

TEST_F(AuditVerify, SaysHowMuchNoCheckpointCovers) {
  const auto journal =
      open({.checkpoint_records = 5, .checkpoint_interval = std::chrono::hours{1}});
  for (int i = 0; i < 8; ++i)
    ASSERT_TRUE(journal->write(test_record("outcome", std::to_string(i))));
  append(segment(), "{\"torn");
  const StreamReport report = verify();
  EXPECT_FALSE(report.bad);
  EXPECT_EQ(report.records, 9U);
  EXPECT_EQ(report.covered, 6U);  // the beginning of the log has one of its own
  EXPECT_EQ(report.torn_bytes, 6U);
}

TEST_F(AuditVerify, FindsChangesBehindTheLastCheckpointByTheChain) {
  const auto journal =
      open({.checkpoint_records = 5, .checkpoint_interval = std::chrono::hours{1}});
  for (int i = 0; i < 8; ++i)
    ASSERT_TRUE(journal->write(test_record("outcome", std::to_string(i))));
  auto all = lines();
  all[0][6].replace(all[0][6].find("hello"), 5, "jello");
  write_lines(all);
  const StreamReport report = verify();
  ASSERT_TRUE(report.bad);
  EXPECT_EQ(report.bad->seq, 6U);
}

TEST_F(AuditVerify, AgreesWithALogThatIsBeingWritten) {
  const auto journal = open({.segment_bytes = 2000, .checkpoint_records = 3});
  for (int i = 0; i < 30; ++i) {
    ASSERT_TRUE(journal->write(test_record("outcome", std::to_string(i))));
    EXPECT_FALSE(verify().bad) << i;
  }
}

// Each look begins and ends at some point of a write, of a checkpoint, or of a new segment.
TEST_F(AuditVerify, AgreesWithALogThatIsBeingWrittenMeanwhile) {
  const auto journal = open({.segment_bytes = 20000, .checkpoint_records = 2});
  ASSERT_TRUE(journal->write(test_record("outcome", "first")));
  std::atomic<bool> ends = false;
  std::jthread writer([&] {
    for (int i = 0; !ends && i < 1000; ++i)
      if (!journal->write(test_record("outcome", std::to_string(i)))) return;
  });
  std::uint64_t seen = 0;
  for (int i = 0; i < 25; ++i) {
    const StreamReport report = verify();
    EXPECT_FALSE(report.bad) << i << ": " << report.bad->what;
    EXPECT_GE(report.records, seen);
    seen = report.records;
  }
  ends = true;
}

}  // namespace
}  // namespace sallyport
