#include "input/sql_identifier.h"

#include <gtest/gtest.h>

#include <initializer_list>

namespace sallyport {
namespace {

TEST(SqlIdentifier, RefusesWhateverCouldEndTheNameAndGoOnWithSql) {
  using namespace std::string_view_literals;
  for (const std::string_view text : std::initializer_list<std::string_view>{
           "",
           " ",
           "users; DROP TABLE users",
           "users--",
           "users/**/",
           "\"users\"",
           "`users`",
           "[users]",
           "us\"ers",
           "users'",
           "us ers",
           "1users",
           "users\n",
           "users\0x"sv,
           "$1",
           "a$b",
           "schema.users",
           "a.b.c",
           ".users",
           "users.",
           "*",
           "us-ers",
           "ﬁelds",
           "usérs",
           "users\xE2\x80\x8B",
           "E'x'",
           "U&\"x\"",
           "a234567890123456789012345678901234567890123456789012345678901234"}) {
    const auto identifier = SqlIdentifier::parse(text);
    ASSERT_FALSE(identifier) << text;
    EXPECT_EQ(identifier.error().reason, Reason::argument);
    EXPECT_FALSE(identifier.error().hint.empty());
  }
}

TEST(SqlIdentifier, RefusesHalfAndDoubleQualification) {
  const SqlIdentifierRules rules{.qualified = true};
  for (const std::string_view text :
       {".users", "public.", "a.b.c", "public..users", "public. users", "\"public\".users", "."})
    EXPECT_FALSE(SqlIdentifier::parse(text, rules)) << text;
}

TEST(SqlIdentifier, QuotesWhatItTakes) {
  EXPECT_EQ(SqlIdentifier::parse("orders")->sql_quoted(), "\"orders\"");
  EXPECT_EQ(SqlIdentifier::parse("_Order2")->to_text(), "_Order2");
  // A reserved word is a name like any other, once quoted.
  EXPECT_EQ(SqlIdentifier::parse("select")->sql_quoted(), "\"select\"");
  EXPECT_TRUE(
      SqlIdentifier::parse("a23456789012345678901234567890123456789012345678901234567890123"));
  const auto qualified = SqlIdentifier::parse("shop.orders", {.qualified = true});
  ASSERT_TRUE(qualified);
  EXPECT_EQ(qualified->schema(), "shop");
  EXPECT_EQ(qualified->name(), "orders");
  EXPECT_EQ(qualified->to_text(), "shop.orders");
  EXPECT_EQ(qualified->sql_quoted(), "\"shop\".\"orders\"");
}

}  // namespace
}  // namespace sallyport
