#include "cell/output.h"

#include <gtest/gtest.h>

#include <random>
#include <string_view>

#include "base/text.h"

namespace sallyport {
namespace {

std::string captured(std::string_view bytes, std::uint64_t limit) {
  CapturedStream stream{ByteSize{limit}};
  stream.append(bytes);
  return stream.text();
}

TEST(CapturedStream, KeepsAllOfAShortStream) {
  EXPECT_EQ(captured("", 10), "");
  EXPECT_EQ(captured("0123456789", 10), "0123456789");
  CapturedStream stream{10_B};
  stream.append(std::string_view("0123456789"));
  EXPECT_FALSE(stream.truncated());
  stream.append(std::string_view("x"));
  EXPECT_TRUE(stream.truncated());
  EXPECT_EQ(stream.total(), 11u);
}

TEST(CapturedStream, KeepsHeadAndTailOfALongOneAndSaysHowMuchIsMissing) {
  EXPECT_EQ(captured("0123456789abcdefghij", 10), "01234\n[... 10 bytes left out ...]\nfghij");
  EXPECT_EQ(captured("0123456789", 9), "0123\n[... 1 bytes left out ...]\n56789");
  EXPECT_EQ(captured("abc", 1), "\n[... 2 bytes left out ...]\nc");
}

TEST(CapturedStream, ALimitOfNothingKeepsNothingButTheCount) {
  EXPECT_EQ(captured("", 0), "");
  EXPECT_EQ(captured("abc", 0), "\n[... 3 bytes left out ...]\n");
}

TEST(CapturedStream, ACharacterIsKeptWholeOrLeftOutWhole) {
  // "a€" is four bytes; the head of 3 would end within the sign, the tail begin within it.
  EXPECT_EQ(captured("a\u20acbbbb\u20ac!", 6), "a\n[... 10 bytes left out ...]\n!");
  EXPECT_EQ(captured("\U0001F600aaaaaaaa\U0001F600", 8),
            "\U0001F600\n[... 8 bytes left out ...]\n\U0001F600");
  EXPECT_EQ(captured("\U0001F600aaaaaaaa\U0001F600", 6), "\n[... 16 bytes left out ...]\n");
}

TEST(CapturedStream, BytesThatAreNoCharactersAreKept) {
  EXPECT_EQ(captured("\xff\xff\xff\xff\xff\xff", 4),
            "\xff\xff\n[... 2 bytes left out ...]\n\xff\xff");
}

// What the class promises, from the whole stream.
std::string reference(std::string_view bytes, std::size_t limit) {
  if (bytes.size() <= limit) return std::string(bytes);
  std::string_view head = bytes.substr(0, limit / 2);
  std::string_view tail = bytes.substr(bytes.size() - (limit - limit / 2));
  for (std::size_t at = 0; at < head.size();) {
    const Utf8Char c = first_utf8_char(head.substr(at));
    if (c.cut_off)
      head = head.substr(0, at);
    else
      at += c.length;
  }
  for (int i = 0; i < 3 && !tail.empty() && (tail[0] & 0xC0) == 0x80; ++i)
    tail.remove_prefix(1);
  const std::size_t missing = bytes.size() - head.size() - tail.size();
  return std::string(head) + "\n[... " + std::to_string(missing) + " bytes left out ...]\n" +
         std::string(tail);
}

TEST(CapturedStream, AgreesWithAReferenceHoweverTheStreamIsCutUp) {
  constexpr std::string_view kPieces[] = {"a", "b\n", "\u00e9", "\u20ac", "\U0001F600"};
  constexpr std::string_view kBroken[] = {"\xff", "\x80", "\xe2", "\xf0\x9f"};
  std::mt19937 random(6);
  for (int round = 0; round < 20'000; ++round) {
    const bool valid = round % 2 == 0;
    std::string bytes;
    for (std::size_t count = random() % 30; count > 0; --count)
      bytes.append(!valid && random() % 3 == 0 ? kBroken[random() % std::size(kBroken)]
                                               : kPieces[random() % std::size(kPieces)]);
    const std::size_t limit = random() % 40;

    CapturedStream stream{ByteSize{limit}};
    for (std::string_view rest = bytes; !rest.empty();) {
      const std::size_t count = std::min<std::size_t>(random() % 50, rest.size());
      stream.append(rest.substr(0, count));
      rest.remove_prefix(count);
    }
    ASSERT_EQ(stream.total(), bytes.size());
    ASSERT_EQ(stream.truncated(), bytes.size() > limit);
    ASSERT_EQ(stream.text(), reference(bytes, limit)) << "limit " << limit;
    if (valid) {
      ASSERT_EQ(to_utf8(stream.text()), stream.text());
    }
  }
}

TEST(CapturedStream, MemoryIsBoundedHoweverMuchIsWritten) {
  constexpr std::uint64_t kWritten = 8ull << 30;
  CapturedStream stream{10_kB};
  const std::string piece(1 << 20, 'x');
  for (std::uint64_t written = 0; written < kWritten; written += piece.size())
    stream.append(piece);
  stream.append(std::string_view("the end"));
  EXPECT_EQ(stream.total(), kWritten + 7);
  EXPECT_LT(stream.text().size(), 10'100u);
  EXPECT_TRUE(stream.text().ends_with("the end"));
}

TEST(CapturedStream, AGreatLimitCostsNothingUntilItIsUsed) {
  CapturedStream stream{1_GB};
  stream.append(std::string_view("little"));
  EXPECT_EQ(stream.text(), "little");
}

}  // namespace
}  // namespace sallyport
