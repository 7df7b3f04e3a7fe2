#include "egress/veil.h"

#include <gmock/gmock.h>

#include <cctype>
#include <cstdio>
#include <random>

#include "base/base64.h"

namespace sallyport {
namespace {

const std::string kSecret = "ghp_S3cretS3cretS3cretS3cret";

std::string covered(const Veil& veil, std::string text) {
  veil.cover(text);
  return text;
}

TEST(Veil, CoversAValueWithAsManyStars) {
  const Veil veil(std::vector{kSecret});
  EXPECT_EQ(covered(veil, "a" + kSecret + "b" + kSecret),
            "a" + std::string(kSecret.size(), '*') + "b" + std::string(kSecret.size(), '*'));
  EXPECT_EQ(covered(veil, "nothing of that kind"), "nothing of that kind");
}

TEST(Veil, KnowsOtherFormsOfIt) {
  const Veil veil(std::vector{kSecret});
  for (std::size_t before = 0; before < 3; ++before) {
    const std::string text = to_base64(std::string(before, 'x') + kSecret + "yy");
    const std::string shown = covered(veil, text);
    EXPECT_EQ(shown.size(), text.size());
    EXPECT_GT(std::ranges::count(shown, '*'), static_cast<std::ptrdiff_t>(kSecret.size()));
  }
  std::string hex;
  for (const char c : kSecret) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    hex.push_back(kDigits[static_cast<unsigned char>(c) >> 4]);
    hex.push_back(kDigits[static_cast<unsigned char>(c) & 15]);
  }
  EXPECT_EQ(covered(veil, hex), std::string(hex.size(), '*'));
  const Veil odd(std::vector<std::string>{"p&ss word/1"});
  EXPECT_EQ(covered(odd, "p%26ss%20word%2F1"), std::string(17, '*'));
}

// However the bytes are cut, what is shown has the same length, and at most a few bytes of a value.
TEST(Veil, PiecesShowNoMoreThanAFewBytes) {
  const Veil veil(std::vector{kSecret});
  const std::string text = "before " + kSecret + " between " + kSecret + " after";
  for (std::size_t first = 0; first <= text.size(); ++first)
    for (std::size_t second = first; second <= text.size(); second += 3) {
      Veil::Stream stream(veil);
      std::string shown;
      stream.feed(std::string_view(text).substr(0, first), shown);
      stream.feed(std::string_view(text).substr(first, second - first), shown);
      stream.feed(std::string_view(text).substr(second), shown);
      stream.finish(shown);
      ASSERT_EQ(shown.size(), text.size());
      ASSERT_EQ(shown.find(kSecret.substr(0, 4)), std::string::npos) << first << " " << second;
      ASSERT_EQ(shown.find(kSecret.substr(4)), std::string::npos);
      ASSERT_EQ(stream.found(), 2);
      ASSERT_TRUE(shown.starts_with("before "));
      ASSERT_TRUE(shown.ends_with(" after"));
    }
}

TEST(Veil, DoesNotHoldBackWhatSomebodyWaitsFor) {
  const Veil veil(std::vector{kSecret});
  Veil::Stream stream(veil);
  std::string shown;
  stream.feed("ping", shown);
  EXPECT_EQ(shown, "ping");
  stream.feed("ghp", shown);
  EXPECT_EQ(shown, "pingghp");
  shown.clear();
  stream.feed("..." + kSecret, shown);
  EXPECT_EQ(shown, "..." + std::string(kSecret.size(), '*'));
}

// A host that says what it is told would otherwise tell whether a guess is right.
TEST(Veil, DoesNotTellAGoodPartFromAnyOther) {
  const Veil veil(std::vector{kSecret});
  for (std::size_t size = 0; size < kSecret.size(); ++size)
    EXPECT_EQ(covered(veil, "x" + kSecret.substr(0, size)), "x" + kSecret.substr(0, size));
}

TEST(Veil, ValuesWithinEachOther) {
  const Veil veil(std::vector<std::string>{"abcabcabd", "bcabcab"});
  EXPECT_EQ(covered(veil, "xabcabcabdx"), "x*********x");
  EXPECT_EQ(covered(veil, "abcabcabcabd"), "a" + std::string(11, '*'));
  EXPECT_EQ(covered(veil, "bcabca"), "bcabca");
}

// The same as looking for the plain value at every place.
TEST(Veil, FindsWhatASimpleSearchFinds) {
  std::mt19937 random(7);
  const std::vector<std::string> values = {"aabaab", "abaabb", "bbbbbb"};
  const Veil veil(values);
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (int i = 0; i < 60; ++i)
      text.push_back(random() % 2 == 0 ? 'a' : 'b');
    std::string expected = text;
    for (const std::string& value : values)
      for (std::size_t at = text.find(value); at != std::string::npos;
           at = text.find(value, at + 1))
        expected.replace(at, value.size(), value.size(), '*');
    Veil::Stream stream(veil);
    std::string shown;
    stream.feed(text + "-", shown);  // so that nothing is left that could be a part
    stream.finish(shown);
    ASSERT_EQ(shown, expected + "-") << text;
    ASSERT_EQ(veil.finds(text), text != expected);
  }
}

// The program chooses how the secret is asked for, and a host may have many ways to say it.
TEST(Veil, KnowsItHoweverAHostWritesIt) {
  const std::string secret = "ghp_S3cret/S3cret'S3cret";
  const Veil veil(std::vector{secret});
  const auto each = [&](auto write) {
    std::string text;
    for (const char c : secret) {
      char one[16];
      write(one, sizeof(one), static_cast<unsigned char>(c));
      text += one;
    }
    return text;
  };
  const auto printed = [&](const char* format) {
    return each(
        [&](char* one, std::size_t size, unsigned c) { std::snprintf(one, size, format, c); });
  };
  std::string mixed = printed("%02x"), wide, lines, upper = secret;
  for (std::size_t i = 0; i < mixed.size(); i += 3)
    mixed[i] = static_cast<char>(std::toupper(mixed[i]));
  for (const char c : secret)
    wide.append({c, '\0'});
  const std::string base64 = to_base64(secret);
  for (std::size_t i = 0; i < base64.size(); i += 20)
    lines += base64.substr(i, 20) + "\r\n";
  for (char& c : upper)
    c = static_cast<char>(std::toupper(c));
  const struct {
    const char* what;
    std::string text;
  } rows[] = {
      {"hexadecimal of both cases", mixed},
      {"a hex dump", printed("%02x ")},
      {"all of it percent-encoded", printed("%%%02X")},
      {"percent-encoded twice", "ghp_S3cret%252FS3cret%2527S3cret"},
      {"JSON", printed("\\u%04x")},
      {"JSON in JSON", "ghp_S3cret\\\\/S3cret'S3cret"},
      {"HTML", "ghp_S3cret/S3cret&#39;S3cret"},
      {"HTML, all of it", printed("&#%u;")},
      {"HTML, hexadecimal", printed("&#x%X;")},
      {"quoted-printable", "ghp_S3cr=\r\net/S3cret'S3cret"},
      {"UTF-16", wide},
      {"capitals", upper},
      {"base64 in lines", lines},
      {"folded", "ghp_S3cret/\r\n S3cret'S3cret"},
  };
  for (const auto& row : rows) {
    std::string shown = covered(veil, row.text);
    EXPECT_EQ(shown.size(), row.text.size()) << row.what;
    for (std::size_t i = 0; i + 4 <= secret.size(); ++i)
      EXPECT_EQ(shown.find(row.text.substr(i * row.text.size() / secret.size(), 6)),
                std::string::npos)
          << row.what << ": " << shown;
  }
}

// Line ends stay, and what is long between two bytes of a value is not held back for ever.
TEST(Veil, KeepsLinesAndHoldsLittle) {
  const Veil veil(std::vector{kSecret});
  EXPECT_EQ(covered(veil, "a\r\n" + kSecret.substr(0, 9) + "\r\n" + kSecret.substr(9) + "\r\nb"),
            "a\r\n*********\r\n" + std::string(kSecret.size() - 9, '*') + "\r\nb");
  Veil::Stream stream(veil);
  std::string shown;
  stream.feed(kSecret.substr(0, 7) + std::string(100000, '\0'), shown);
  EXPECT_GT(shown.size(), 99000);
}

TEST(Veil, OfNothingFindsNothing) {
  const Veil veil(std::vector<std::string>{"short"});
  EXPECT_TRUE(veil.empty());
  EXPECT_EQ(covered(veil, "short"), "short");
}

}  // namespace
}  // namespace sallyport
