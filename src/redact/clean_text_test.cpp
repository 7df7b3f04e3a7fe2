#include "redact/clean_text.h"

#include <gtest/gtest.h>

namespace sallyport {
namespace {

TEST(CleanText, RemovesWhatATerminalObeys) {
  EXPECT_EQ(clean_text("a\x1b[31mred\x1b[0m b"), "ared b");
  EXPECT_EQ(clean_text("\x1b]0;title\x07x"), "x");
  EXPECT_EQ(clean_text("\x1b]52;c;aGk=\x1b\\x"), "x");
  EXPECT_EQ(clean_text("\x1b]8;;https://x.example\x1b\\link\x1b]8;;\x1b\\"), "link");
  EXPECT_EQ(clean_text("\x1bPq#0;2;0~\x1b\\x"), "x");
  EXPECT_EQ(clean_text("\x1b_apc\x1b\\x\x1b^pm\x1b\\y"), "xy");
  EXPECT_EQ(clean_text("\x1b(Bx\x1b"
                       "cy\x1b=z"),
            "xyz");
  EXPECT_EQ(clean_text("\u009b31mx\u009dtitle\u009cy"), "xy");
  EXPECT_EQ(clean_text(std::string_view("a\0b\x07\x08\x7f\u0085"
                                        "c",
                                        9)),
            "abc");
}

TEST(CleanText, KeepsLinesApart) {
  EXPECT_EQ(clean_text("a\r\nb\rc\r\r\nd\n"), "a\r\nb\nc\n\r\nd\n");
  EXPECT_EQ(clean_text("a\r"), "a\n");
  EXPECT_EQ(clean_text("\r\x1b[m\n\r\u200b\n"), "\n\n\n\n");
  EXPECT_EQ(clean_text("\x1b]title\r\nx"), "\r\nx");
  EXPECT_EQ(clean_text("a\u2028"
                       "b"),
            "a\nb");
  EXPECT_EQ(clean_text("tab\there"), "tab\there");
}

TEST(CleanText, DoesNotLoseTheTextBehindABrokenEscape) {
  EXPECT_EQ(clean_text("\x1b]never ends\nnext"), "\nnext");
  EXPECT_EQ(clean_text("\x1b[\nnext"), "\nnext");
  EXPECT_EQ(clean_text("x\x1b"), "x");
  EXPECT_EQ(clean_text("\x1b]" + std::string(10'000, 'a')).size(), 10'000u - 4096);
}

TEST(CleanText, RemovesWhatNobodySees) {
  CleanCounts counts;
  EXPECT_EQ(clean_text("a\u200bb\u202ec\u2066d\u00ade\uFE0Ff\U000E0041g\U000E0100h\uFEFF", &counts),
            "abcdefgh");
  EXPECT_EQ(counts.invisible, 8u);
  EXPECT_EQ(clean_text("Grüße, 世界 😀"), "Grüße, 世界 😀");
}

TEST(CleanText, ShowsWhatNobodySeesWhereDataHasToStayWhatItIs) {
  CleanCounts counts;
  EXPECT_EQ(clean_text("a\u200bb\U000E0041\x1b[1mc\x07\r\n", &counts, Invisible::shown),
            "a[U+200B]b[U+E0041]c\r\n");
  EXPECT_EQ(counts.invisible, 2u);
  EXPECT_EQ(without_numbers("ig[U+200B]nore[U+E0041] [U+20] [U+[U+FEFF]"), "ignore [U+20] [U+");
}

TEST(CleanText, ReplacesWhatIsNotUtf8) {
  CleanCounts counts;
  EXPECT_EQ(clean_text("a\xff\xC3(\xE2\x82", &counts), "a\uFFFD\uFFFD(\uFFFD");
  EXPECT_EQ(counts.invalid, 3u);
  EXPECT_EQ(clean_text("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");
}

TEST(CleanText, GivesTheSameForEveryWayToCutTheText) {
  const std::string text =
      "a\r\nb\x1b[1;31mc\u200b\u00e9\xE2\x82\x1b]0;t\x1b\\x\xF0\x9F\x98\x80\r\xE0\x80z\x1b\x1b[mq";
  CleanCounts whole;
  const std::string expected = clean_text(text, &whole);
  for (std::size_t first = 0; first <= text.size(); ++first)
    for (std::size_t second = first; second <= text.size(); ++second) {
      CleanText cleaner;
      std::string out;
      cleaner.feed(std::string_view(text).substr(0, first), out);
      cleaner.feed(std::string_view(text).substr(first, second - first), out);
      cleaner.feed(std::string_view(text).substr(second), out);
      cleaner.finish(out);
      ASSERT_EQ(out, expected) << first << " " << second;
      ASSERT_EQ(cleaner.counts(), whole);
    }
  EXPECT_EQ(clean_text(expected), expected);
}

}  // namespace
}  // namespace sallyport
