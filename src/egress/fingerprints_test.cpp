#include "egress/fingerprints.h"

#include <gmock/gmock.h>

#include <random>

#include "base/base64.h"

namespace sallyport {
namespace {

const std::string kSecret = "ghp_S3cretS3cretS3cretS3cret";

std::string covered(const std::vector<std::string>& values, std::string_view text,
                    std::size_t pieces = 7) {
  const auto fingerprints = fingerprints_of(values);
  FingerprintCover cover(*fingerprints);
  std::string out;
  for (; !text.empty(); text.remove_prefix(std::min(pieces, text.size())))
    cover.feed(text.substr(0, pieces), out);
  cover.finish(out);
  return out;
}

std::string stars(std::size_t count) {
  return std::string(count, '*');
}

TEST(Fingerprints, AValueIsCoveredHoweverItComes) {
  const std::string text = "before " + kSecret + " between " + kSecret;
  const std::string expected =
      "before " + stars(kSecret.size()) + " between " + stars(kSecret.size());
  for (const std::size_t pieces : {1, 2, 3, 7, 20, 64, 1000})
    EXPECT_EQ(covered({kSecret}, text, pieces), expected) << pieces;
  EXPECT_EQ(covered({kSecret}, kSecret), stars(kSecret.size()));
  EXPECT_EQ(covered({kSecret}, "ghp_S3cretS3cretS3cretS3cre"), "ghp_S3cretS3cretS3cretS3cre");
  EXPECT_EQ(covered({kSecret}, ""), "");
}

TEST(Fingerprints, InItsOtherForms) {
  const std::string base64 = to_base64("me:" + kSecret);
  const std::string shown = covered({kSecret}, base64);
  EXPECT_EQ(shown.size(), base64.size());
  EXPECT_GT(std::ranges::count(shown, '*'), 30);
  EXPECT_EQ(covered({"p&ss word/1"}, "p%26ss%20word%2F1"), stars(17));
}

TEST(Fingerprints, ALongValueByItsPieces) {
  std::mt19937 random(3);
  std::string value;
  for (int i = 0; i < 3000; ++i)
    value.push_back(static_cast<char>('a' + random() % 26));
  const std::string text = "<" + value + ">";
  EXPECT_EQ(covered({value}, text, 100), "<" + stars(value.size()) + ">");
}

// Values of one and of several sizes, in texts that are full of near misses.
TEST(Fingerprints, FindWhatASimpleSearchFinds) {
  std::mt19937 random(7);
  const std::vector<std::string> values = {"aabaab", "abaabb", "bbbbbbbbb"};
  for (int round = 0; round < 300; ++round) {
    std::string text;
    for (int i = 0; i < 60; ++i)
      text.push_back(random() % 2 == 0 ? 'a' : 'b');
    std::string expected = text;
    for (const std::string& value : values)
      for (std::size_t at = text.find(value); at != std::string::npos;
           at = text.find(value, at + 1))
        expected.replace(at, value.size(), value.size(), '*');
    ASSERT_EQ(covered(values, text, 1 + random() % 9), expected) << text;
  }
}

TEST(Fingerprints, DoNotHaveTheValue) {
  const auto bytes = write_wire(*fingerprints_of(std::vector{kSecret}), 1 << 20, "fingerprints");
  ASSERT_TRUE(bytes);
  EXPECT_EQ(bytes->find(kSecret.substr(4, 6)), std::string::npos);
  EXPECT_NE(*fingerprints_of(std::vector{kSecret}), *fingerprints_of(std::vector{kSecret}));
  const auto read = read_wire<Fingerprints>(*bytes, 1 << 20, "fingerprints");
  ASSERT_TRUE(read);
  FingerprintCover cover(*read);
  std::string out;
  cover.feed(kSecret, out);
  cover.finish(out);
  EXPECT_EQ(out, stars(kSecret.size()));
}

TEST(Fingerprints, SayLittleThatCouldBeSolved) {
  const auto fingerprints = fingerprints_of(std::vector{kSecret});
  for (const Fingerprint& one : fingerprints->of)
    EXPECT_LT(one.rolling, 1 << 20);
}

TEST(Fingerprints, OfNothingHoldNothingBack) {
  const Fingerprints none;
  FingerprintCover cover(none);
  std::string out;
  cover.feed("at once", out);
  EXPECT_EQ(out, "at once");
}

}  // namespace
}  // namespace sallyport
