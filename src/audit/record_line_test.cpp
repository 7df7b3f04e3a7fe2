#include "audit/record_line.h"

#include <gtest/gtest.h>

#include <random>

#include "audit/record_builder.h"
#include "base/text.h"

namespace sallyport {
namespace {

std::string line_of(json::object record, std::uint64_t seq = 7) {
  std::string line;
  DraftRecord::make(std::move(record)).value().append_line(line, seq, sha256("x"));
  return line;
}

TEST(RecordLine, IsCanonicalAndReadBackWhateverItHolds) {
  std::mt19937 random(1);
  const std::string_view pieces[] = {"\\", "\"", "{", "}", "[", "]", ",", ":", "a", "\n", "\x01"};
  for (int i = 0; i < 2000; ++i) {
    std::string text;
    for (unsigned n = random() % 12; n > 0; --n)
      text += pieces[random() % std::size(pieces)];
    const std::string line = line_of({{"record", "intent"},
                                      {"caller", text},
                                      {"zz", json::array{text, json::object{{text, 1}}}}});
    const auto value = parse_json(line);
    ASSERT_TRUE(value) << line;
    EXPECT_EQ(canonical_json(*value), line);
    const auto view = read_record(line);
    ASSERT_TRUE(view) << line;
    EXPECT_EQ(view->seq, 7U);
    EXPECT_EQ(view->prev, sha256_hex("x"));
    EXPECT_EQ(view->record, "intent");
    EXPECT_EQ(view->caller, escaped(text));
  }
}

// A text that ends within a character must not take the quote behind it along.
TEST(RecordLine, HasOtherBytesInThePlaceOfThoseThatAreNotUtf8) {
  const std::string cut = std::string(255, 'x') + "\xc3";
  for (const std::string& text : {std::string("\xff"), std::string("\xe2\x82"), cut}) {
    RecordBuilder record;
    record.text("call_id", "1");
    record.text("caller", text);
    record.text("record", "outcome");
    record.text("tenant", "acme");
    record.text("tool", text + "\"");
    const auto draft = record.finish();
    ASSERT_TRUE(draft) << draft.error().message;
    EXPECT_TRUE(draft->is_outcome());
    EXPECT_EQ(draft->view().tenant, "acme");
    std::string line;
    draft->append_line(line, 7, sha256("x"));
    const auto value = parse_json(line);
    ASSERT_TRUE(value) << line;
    EXPECT_EQ(canonical_json(*value), line);
    EXPECT_EQ(value->at("caller").as_string(), to_utf8(text));
    EXPECT_EQ(value->at("tool").as_string(), to_utf8(text) + "\"");
    EXPECT_EQ(value->at("seq"), 7);
    EXPECT_EQ(value->at("prev").as_string(), sha256_hex("x"));
  }
}

TEST(RecordLine, OfTheWriterCannotBeForgedByTheRecord) {
  const std::string line = line_of({{"record", "outcome"},
                                    {"seq", 99},
                                    {"prev", "forged"},
                                    {"time", "1970"},
                                    {"x", "\",\"y\":\""}});
  const auto view = read_record(line);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->seq, 7U);
  EXPECT_EQ(view->prev, sha256_hex("x"));
  EXPECT_EQ(view->time.size(), kTimeLength);
}

TEST(RecordLine, IsNoneWithoutItsPlaceOrWithKeysOutOfOrder) {
  const std::string good = line_of({{"record", "outcome"}});
  ASSERT_TRUE(read_record(good));
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(read_record(good.substr(0, size)));
  for (const char* line : {"", "{}", "[]", "{\"seq\":1}",
                           "{\"prev\":\"a\",\"record\":\"b\",\"seq\":01,\"time\":\"c\"}",
                           "{\"prev\":\"a\",\"record\":\"b\",\"seq\":1,\"seq\":2,\"time\":\"c\"}",
                           "{\"record\":\"b\",\"prev\":\"a\",\"seq\":1,\"time\":\"c\"}",
                           "{\"prev\":\"a\",\"record\":\"b\",\"seq\":-1,\"time\":\"c\"}",
                           "{\"prev\":\"a\",\"record\":\"b\",\"seq\":1,\"time\":\"c\"}}",
                           "{\"prev\":\"a\",\"record\":\"b\",\"seq\":1,\"time\":\"c\"},{}"})
    EXPECT_FALSE(read_record(line)) << line;
}

TEST(RecordLine, HasPlainNamesOfFields) {
  for (const char* name : {"", "a b", "\"", "\\", "\xC3\xAB", "\n"})
    EXPECT_FALSE(DraftRecord::make({{"record", "x"}, {name, 1}})) << name;
  EXPECT_FALSE(DraftRecord::make({{"call_id", "x"}}));
  EXPECT_FALSE(DraftRecord::make({{"record", 3}}));
  EXPECT_TRUE(DraftRecord::make({{"record", "x"}, {"gen_ai.tool-name", 1}}));
}

TEST(RecordLine, HasTimesInTheOrderOfTheirTexts) {
  EXPECT_EQ(time_text(0), "1970-01-01T00:00:00.000000Z");
  EXPECT_EQ(time_text(1'791'117'000'123'456), "2026-10-04T12:30:00.123456Z");
  EXPECT_LT(time_text(999'999), time_text(1'000'000));
}

}  // namespace
}  // namespace sallyport
