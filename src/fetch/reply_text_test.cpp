#include "fetch/reply_text.h"

#include <gtest/gtest.h>

namespace sallyport {
namespace {

TEST(ReplyText, IsKnownByItsBytesAndThenByItsType) {
  EXPECT_EQ(text_of_reply("é", "image/png", false), "é");
  EXPECT_EQ(text_of_reply("\xEF\xBB\xBFx", "", false), "x");
  EXPECT_EQ(text_of_reply("\xE9", "text/html; Charset=\"ISO-8859-1\"", false), "é");
  EXPECT_EQ(text_of_reply("\x80\x99", "text/plain; charset=windows-1252", false), "€™");
  EXPECT_EQ(text_of_reply("\xE9", "text/html", false), "é");
  EXPECT_EQ(text_of_reply("\xE9", "text/html; charset=utf-8", false), std::nullopt);
  EXPECT_EQ(text_of_reply("\xE9", "application/pdf", false), std::nullopt);
  EXPECT_EQ(text_of_reply("\xE9", "", false), std::nullopt);
  EXPECT_EQ(text_of_reply(std::string_view("a\0b", 3), "text/plain", false), std::nullopt);
  EXPECT_EQ(media_type(" Text/HTML ; charset=x"), "text/html");
}

TEST(ReplyText, LosesHalfACharacterAtACut) {
  EXPECT_EQ(text_of_reply("a\xE2\x82", "", true), "a");
  EXPECT_EQ(text_of_reply("a\xE2\x82", "", false), std::nullopt);
  EXPECT_EQ(whole_characters("a€"), "a€");
  EXPECT_EQ(whole_characters("a\xF0\x9F\x98"), "a");
  EXPECT_EQ(whole_characters(""), "");
}

}  // namespace
}  // namespace sallyport
