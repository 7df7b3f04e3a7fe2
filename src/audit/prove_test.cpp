#include "audit/prove.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "audit/journal_fixture.h"

namespace sallyport {
namespace {

class AuditProof : public JournalFixture {};

TEST_F(AuditProof, HoldsForEveryRecordAndForNoOther) {
  {
    const auto journal = open({.segment_bytes = 900});
    for (int i = 0; i < 9; ++i)
      ASSERT_TRUE(journal->write(test_record("outcome", std::to_string(i))));
  }
  const auto key = read_verifying_key(state());
  ASSERT_TRUE(key);
  std::uint64_t seq = 0;
  for (; true; ++seq) {
    const auto proof = prove_record(state(), "t", seq);
    if (!proof) break;
    const auto proven = check_proof(json::serialize(*proof), *key);
    ASSERT_TRUE(proven) << proven.error().message;
    EXPECT_EQ(proven->record.at("seq"), seq);
    EXPECT_EQ(proven->checkpoint.stream, "t");
    for (const char* field : {"seq", "size"}) {
      json::object wrong = *proof;
      wrong[field] = wrong[field].to_number<std::uint64_t>() + 1;
      EXPECT_FALSE(check_proof(json::serialize(wrong), *key)) << field;
    }
    json::object wrong = *proof;
    std::string line(wrong["record"].as_string());
    line[line.find("ime\"")] = 'I';
    wrong["record"] = line;
    EXPECT_FALSE(check_proof(json::serialize(wrong), *key));
  }
  EXPECT_GT(seq, 10U);
  EXPECT_FALSE(prove_record(state(), "u", 0));
  EXPECT_FALSE(prove_record(state(), "../t", 0));
}

TEST_F(AuditProof, IsRefusedWithoutItsSignatureOrOnNonsense) {
  {
    ASSERT_TRUE(open()->write(test_record("outcome", "1")));
  }
  const auto proof = prove_record(state(), "t", 1);
  ASSERT_TRUE(proof);
  const auto other = SigningKey::make();
  EXPECT_FALSE(check_proof(json::serialize(*proof), other->verifying()));
  const auto key = read_verifying_key(state());
  for (const char* text : {"", "{}", "[]", "{\"checkpoint\": 3}", "null"})
    EXPECT_FALSE(check_proof(text, *key)) << text;
}

TEST_F(AuditProof, IsNotMadeFromALogThatWasChanged) {
  {
    ASSERT_TRUE(open()->write(test_record("outcome", "1")));
  }
  poke(segment(), read(segment()).find("hello"), 'j');
  for (const std::uint64_t seq : {0U, 1U})
    EXPECT_FALSE(prove_record(state(), "t", seq));
}

}  // namespace
}  // namespace sallyport
