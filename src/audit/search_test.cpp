#include "audit/search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "audit/journal_fixture.h"
#include "audit/segment_index.h"

namespace sallyport {
namespace {

namespace fs = std::filesystem;

class AuditSearch : public JournalFixture {
 protected:
  void write_calls(int calls, std::uint64_t segment_bytes) {
    const auto journal = open({.segment_bytes = segment_bytes, .checkpoint_records = 1000});
    std::mt19937 random(7);
    const std::string callers[] = {"ann", "bob", "a\"b\\c", "zo\xC3\xAB\n"};
    const std::string tools[] = {"python", "shell", "read"};
    const std::string tenants[] = {"t", "u"};
    for (int i = 0; i < calls; ++i) {
      json::object record =
          test_record("outcome", "call-" + std::to_string(i), tenants[random() % 2]);
      record["caller"] = callers[random() % 4];
      record["filler"] = std::string(1000, 'x');
      record["tool"] = tools[random() % 3];
      if (random() % 5 == 0) {
        record["status"] = "blocked";
        record["reason"] = random() % 2 == 0 ? "permission" : "rate_limit";
      }
      ASSERT_TRUE(journal->write(std::move(record)));
    }
  }
  // What a reader without any index finds in one stream.
  std::vector<std::string> plain(const AuditQuery& query, const std::string& name) {
    std::vector<std::string> ids;
    for (const json::object& record : records(name, true)) {
      const auto is = [&](const char* key, const std::string& wanted) {
        return wanted.empty() || (record.contains(key) && record.at(key).is_string() &&
                                  record.at(key).as_string() == wanted);
      };
      const std::string time(record.at("time").as_string());
      if (is("caller", query.caller) && is("tool", query.tool) && is("reason", query.reason) &&
          is("status", query.status) && is("record", query.record) &&
          is("call_id", query.call_id) && (query.since.empty() || time >= query.since) &&
          (query.until.empty() || time < query.until))
        ids.push_back(name + " " + std::to_string(record.at("seq").as_int64()));
    }
    if (query.newest_first) std::ranges::reverse(ids);
    return ids;
  }
  // All pages of a search.
  std::vector<std::string> found(AuditQuery query) {
    std::vector<std::string> ids;
    for (int page = 0; page < 10'000; ++page) {
      const auto got = search_audit(state(), query);
      if (!got) {
        ADD_FAILURE() << got.error().message;
        return ids;
      }
      EXPECT_LE(got->records.size(), query.limit);
      for (const json::object& record : got->records)
        ids.push_back(std::string(record.at("stream").as_string()) + " " +
                      std::to_string(record.at("seq").as_int64()));
      if (got->cursor.empty()) return ids;
      query.cursor = got->cursor;
    }
    ADD_FAILURE() << "it never ends";
    return ids;
  }
};

TEST_F(AuditSearch, FindsExactlyWhatAPlainReaderFinds) {
  write_calls(400, 100'000);
  ASSERT_TRUE(fs::exists(segment(2)));
  const std::string middle(records()[100].at("time").as_string());
  AuditQuery queries[] = {
      {},
      {.caller = "ann"},
      {.caller = "a\"b\\c", .tool = "shell"},
      {.caller = "zo\xC3\xAB\n", .reason = "permission"},
      {.status = "blocked"},
      {.call_id = "call-77"},
      {.record = "rotated"},
      {.caller = "nobody"},
      {.since = middle},
      {.tool = "read", .until = middle},
      {.since = middle, .until = middle},
  };
  for (AuditQuery& query : queries)
    for (const bool newest_first : {true, false})
      for (const auto& [limit, most_bytes] : {std::pair<std::size_t, std::uint64_t>(100, 0),
                                              std::pair<std::size_t, std::uint64_t>(7, 1)}) {
        query.newest_first = newest_first;
        query.limit = limit;
        query.most_bytes = most_bytes;
        std::vector<std::string> both;
        for (const std::string name : {"t", "u", "0-nobody"}) {
          query.tenant = name;
          const auto expected = plain(query, name);
          EXPECT_EQ(found(query), expected);
          both.insert(both.end(), expected.begin(), expected.end());
        }
        query.tenant.clear();
        EXPECT_THAT(found(query), testing::UnorderedElementsAreArray(both));
      }
  EXPECT_TRUE(fs::exists(stream() / index_name(1)));
}

TEST_F(AuditSearch, MergesStreamsByTime) {
  write_calls(50, 1 << 20);
  for (const bool newest_first : {true, false}) {
    const auto page = search_audit(state(), {.record = "outcome", .newest_first = newest_first});
    ASSERT_TRUE(page);
    for (std::size_t i = 1; i < page->records.size(); ++i) {
      const std::string a(page->records[i - 1].at("time").as_string()),
          b(page->records[i].at("time").as_string());
      EXPECT_TRUE(newest_first ? a >= b : a <= b);
    }
  }
}

TEST_F(AuditSearch, SurvivesAnIndexThatIsDamagedOrLies) {
  write_calls(200, 30'000);
  const AuditQuery query{.tenant = "t", .caller = "bob"};
  const auto expected = found(query);
  const fs::path path = stream() / index_name(1);
  const std::string good = read(path);
  std::mt19937 random(3);
  for (int i = 0; i < 150; ++i) {
    std::string bad = good;
    const std::size_t at = i < 60 ? static_cast<std::size_t>(i) : random() % bad.size();
    bad[at] = static_cast<char>(random());
    if (i % 10 == 0) bad.resize(random() % bad.size());
    write(path, bad);
    const auto got = found(query);
    EXPECT_THAT(got, testing::IsSubsetOf(expected));
  }
  fs::remove(path);
  EXPECT_EQ(found(query), expected);
}

TEST_F(AuditSearch, PassesOverLinesThatAreNoRecords) {
  {
    ASSERT_TRUE(open()->write(test_record("outcome", "1")));
  }
  append(segment(), "nonsense\n{\"torn");
  const auto page = search_audit(state(), {.record = "outcome"});
  ASSERT_TRUE(page);
  EXPECT_EQ(page->records.size(), 1U);
}

TEST_F(AuditSearch, RefusesWrongTimesCursorsAndNames) {
  {
    ASSERT_TRUE(open()->write(test_record("outcome", "1")));
  }
  EXPECT_FALSE(search_audit(state(), {.since = "yesterday"}));
  EXPECT_FALSE(search_audit(state(), {.until = "2026-10-04 12:00"}));
  EXPECT_FALSE(search_audit(state(), {.cursor = "../x:3"}));
  EXPECT_FALSE(search_audit(state(), {.cursor = "t:x"}));
  EXPECT_FALSE(search_audit(state(), {.tenant = "../t"}));
  EXPECT_TRUE(search_audit(state(), {.tenant = "new"})->records.empty());
  EXPECT_TRUE(search_audit(state(), {.since = "2020", .until = "2100-01-01T00:00:00Z"}));
}

}  // namespace
}  // namespace sallyport
