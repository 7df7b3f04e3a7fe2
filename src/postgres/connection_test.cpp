#include "postgres/connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

namespace sallyport {
namespace {

using testing::HasSubstr;

// The client's end of a connection to a server that says `bytes`, whatever it is asked, and ends.
Fd server_that_says(const std::string& bytes) {
  int ends[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const Fd server(ends[1]);
  EXPECT_EQ(::send(server.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(bytes.size()));
  ::shutdown(server.get(), SHUT_WR);
  // What it is asked stays unread: the socket holds it.
  static std::vector<int> kept;
  kept.push_back(::dup(server.get()));
  return Fd(ends[0]);
}

std::string message(char kind, const std::string& body) {
  std::string text(1, kind);
  const auto size = static_cast<std::uint32_t>(body.size() + 4);
  for (int shift = 24; shift >= 0; shift -= 8)
    text.push_back(static_cast<char>(size >> shift));
  return text + body;
}

const std::string kLetIn = message('R', std::string(4, '\0')) + message('Z', "I");

std::string refusal(const std::string& bytes) {
  const auto connection = PgConnection::open(
      server_that_says(bytes), {.user = "reader", .database = "shop", .password = "x"});
  return connection ? "" : connection.error().message;
}

TEST(PgConnection, TakesNoAnswerThatItDoesNotUnderstand) {
  EXPECT_EQ(refusal(kLetIn), "");
  EXPECT_THAT(refusal(""), HasSubstr("ended"));
  EXPECT_THAT(refusal("HTTP/1.1 400 Bad Request\r\n"), HasSubstr("larger"));
  EXPECT_THAT(refusal(std::string("R\0\0\0\0", 5)), HasSubstr("not understood"));
  EXPECT_THAT(refusal(std::string("R\0\0\0\x08\0\0", 7)), HasSubstr("ended"));
  EXPECT_THAT(refusal(message('T', "")), HasSubstr("not understood"));
  EXPECT_THAT(refusal(message('E', std::string("C28P01\0Mno such role\0\0", 22))),
              HasSubstr("no such role"));
}

TEST(PgConnection, NeverSendsAPasswordThatCouldBeRead) {
  for (const char way : {'\3', '\5'})  // in clear, MD5
    EXPECT_THAT(refusal(message('R', std::string("\0\0\0", 3) + way)), HasSubstr("gives it away"));
  EXPECT_THAT(refusal(message('R', std::string("\0\0\0\x0aSCRAM-SHA-1\0\0", 17))),
              HasSubstr("not known here"));
  // One that does not ask for it is not the one that is meant.
  const auto open = PgConnection::open(
      server_that_says(kLetIn), {.user = "r", .database = "d", .password = "x", .must_ask = true});
  ASSERT_FALSE(open);
  EXPECT_THAT(open.error().message, HasSubstr("without its password"));
  const auto plain = PgConnection::open(
      server_that_says("N"),
      {.user = "reader", .database = "shop", .tls = true, .host = "db", .certificates = "x"});
  ASSERT_FALSE(plain);
  EXPECT_THAT(plain.error().message, HasSubstr("no TLS"));
}

TEST(PgConnection, ReadsRowsAndErrorsOfAStatement) {
  const std::string columns =
      message('T', std::string("\0\1", 2) + "id" +
                       std::string("\0\0\0\0\0\0\0\0\0\0\x17\0\4\xff\xff\xff\xff\0\0", 19));
  const std::string row = message('D', std::string("\0\1\0\0\0\2", 6) + "42");
  const std::string null_row = message('D', std::string("\0\1\xff\xff\xff\xff", 6));
  const std::string end = message('C', std::string("SELECT 2\0", 9)) + message('Z', "I");
  auto open = PgConnection::open(
      server_that_says(kLetIn + message('1', "") + columns + row + null_row + end),
      {.user = "r", .database = "d"});
  ASSERT_TRUE(open);
  const auto rows = open->query("SELECT id");
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_EQ(rows->columns.at(0).name, "id");
  EXPECT_EQ(rows->columns.at(0).type, 23U);
  EXPECT_EQ(rows->rows.at(0).at(0), "42");
  EXPECT_EQ(rows->rows.at(1).at(0), std::nullopt);

  auto wrong = PgConnection::open(
      server_that_says(kLetIn + message('E', std::string("C42501\0Mno\0\0", 12)) +
                       message('Z', "I")),
      {.user = "r", .database = "d"});
  ASSERT_TRUE(wrong);
  const auto refused = wrong->query("SELECT id");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().state, "42501");

  // A row that says that it is longer than it is.
  auto torn = PgConnection::open(
      server_that_says(kLetIn + columns + message('D', std::string("\0\1\0\0\xff\xff", 6) + "42") +
                       end),
      {.user = "r", .database = "d"});
  ASSERT_TRUE(torn);
  EXPECT_FALSE(torn->query("SELECT id"));
}

}  // namespace
}  // namespace sallyport
