#include "base/base64.h"

#include <gtest/gtest.h>

namespace sallyport {
namespace {

TEST(Base64, WritesTheExamplesOfTheStandard) {
  constexpr std::string_view kPairs[][2] = {{"", ""},
                                            {"f", "Zg=="},
                                            {"fo", "Zm8="},
                                            {"foo", "Zm9v"},
                                            {"foob", "Zm9vYg=="},
                                            {"fooba", "Zm9vYmE="},
                                            {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : kPairs)
    EXPECT_EQ(to_base64(bytes), text);
  EXPECT_EQ(to_base64(std::string_view("\x00\xff\xfb", 3)), "AP/7");
}

TEST(Base64, ComesBackAsTheSameBytes) {
  std::string bytes;
  for (int size = 0; size < 300; ++size) {
    EXPECT_EQ(from_base64(to_base64(bytes)), bytes);
    bytes.push_back(static_cast<char>(size * 7));
  }
}

TEST(Base64, IsReadInItsOneSpellingOnly) {
  for (const char* text : {"A", "AA", "AAA", "AA=A", "====", "A===", "AB==", "AAB=", "AA\n=",
                           "AAA-", "AA==AAAA", " AAA", "AAAA\n"})
    EXPECT_EQ(from_base64(text), std::nullopt) << text;
}

}  // namespace
}  // namespace sallyport
