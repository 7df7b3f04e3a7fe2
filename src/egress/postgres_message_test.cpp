#include "egress/postgres_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sallyport {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using Kind = PgStart::Kind;
using State = PgMessage::State;

std::string text(std::string_view words) {
  return std::string(words).append(1, '\0');
}
// A start-up of version 3.0 with that behind the version.
std::string start(const std::string& body) {
  return pg_number(static_cast<std::uint32_t>(body.size() + 8)) + pg_number(3 << 16) + body;
}

TEST(PgStart, ReadsWhatAClientWants) {
  const auto read = read_pg_start(
      start(text("user") + text("ann") + text("database") + text("shop") + text("")) + "more");
  EXPECT_EQ(read.kind, Kind::start);
  EXPECT_THAT(read.parameters, ElementsAre(Pair("user", "ann"), Pair("database", "shop")));
  EXPECT_EQ(read.size, 8 + 5 + 4 + 9 + 5 + 1);
  EXPECT_EQ(read_pg_start(pg_tls_request()).kind, Kind::tls);
  EXPECT_EQ(read_pg_start(pg_number(8) + pg_number(80877104)).kind, Kind::gss);
  const auto cancel = read_pg_start(pg_cancel_request("ABCDEFGH"));
  EXPECT_EQ(cancel.kind, Kind::cancel);
  EXPECT_EQ(cancel.cancel_key, "ABCDEFGH");
}

TEST(PgStart, ComesInAnyPieces) {
  const std::string whole = start(text("user") + text("ann") + text(""));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto read = read_pg_start(std::string_view(whole).substr(0, size));
    EXPECT_EQ(read.kind, Kind::incomplete) << size;
    EXPECT_EQ(read.size, 0U) << size;
  }
  EXPECT_EQ(read_pg_start(whole).kind, Kind::start);
}

TEST(PgStart, RefusesImpossibleLengthsBeforeItWaitsForThem) {
  for (const std::uint32_t length :
       {0U, 4U, 7U, 10'001U, 0x7FFF'FFFFU, 0x8000'0000U, 0xFFFF'FFFFU}) {
    const auto read = read_pg_start(pg_number(length));
    EXPECT_EQ(read.kind, Kind::refused) << length;
    EXPECT_THAT(read.fault, HasSubstr("impossible length")) << length;
  }
  for (const std::uint32_t code : {80877102U, 80877103U, 80877104U})
    EXPECT_EQ(read_pg_start(pg_number(12) + pg_number(code)).kind, Kind::refused) << code;
  EXPECT_EQ(read_pg_start(pg_number(10'000) + pg_number(3 << 16)).kind, Kind::incomplete);
}

TEST(PgStart, RefusesWhatItDoesNotServe) {
  const auto fault = [](const std::string& bytes) { return read_pg_start(bytes).fault; };
  EXPECT_THAT(fault(pg_number(8) + pg_number(2 << 16)), HasSubstr("version 3.0"));
  EXPECT_THAT(fault(pg_number(8) + pg_number((3 << 16) + 2)), HasSubstr("version 3.0"));
  EXPECT_THAT(fault("\x16\x03\x01"), HasSubstr("TLS has to be asked for"));
  EXPECT_TRUE(read_pg_start("\x16").is_tls_hello);
  const std::string user = text("user") + text("ann");
  EXPECT_THAT(fault(start(user + text("replication") + text("database") + text(""))),
              HasSubstr("replication"));
  EXPECT_THAT(fault(start(user + text("_pq_.x") + text("1") + text(""))), HasSubstr("extensions"));
  EXPECT_THAT(fault(start(text("database") + text("shop") + text(""))), HasSubstr("no user"));
  EXPECT_THAT(fault(start(user + text("user") + text("postgres") + text(""))), HasSubstr("twice"));
}

TEST(PgStart, TakesNoParametersWithTwoReadings) {
  const std::string user = text("user") + text("ann");
  for (const std::string& body :
       {std::string(), std::string("user"), text("user"), text("user") + "ann", user,
        user + text("") + "x", user + text("") + text(""), user + text("") + user + text(""),
        user + text("database") + text("")})
    EXPECT_EQ(read_pg_start(start(body)).kind, Kind::refused) << testing::PrintToString(body);
}

TEST(PgStart, IsWrittenAsItIsRead) {
  const PgParameters parameters = {{"user", "ann"}, {"database", ""}, {"options", "-c x=1"}};
  EXPECT_EQ(read_pg_start(pg_start(parameters)).parameters, parameters);
}

TEST(PgMessage, IsReadAsAWholeOrNotAtAll) {
  const std::string whole = pg_message('p', "secret");
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_EQ(read_pg_message(std::string_view(whole).substr(0, size), 6).state, State::incomplete);
  const std::string more = whole + "Q";
  const auto read = read_pg_message(more, 6);
  EXPECT_EQ(read.state, State::complete);
  EXPECT_EQ(read.kind, 'p');
  EXPECT_EQ(read.body, "secret");
  EXPECT_EQ(read.size, whole.size());
  EXPECT_EQ(read_pg_message(whole, 5).state, State::refused);
  EXPECT_EQ(read_pg_message(pg_message('S', ""), 0).state, State::complete);
}

TEST(PgMessage, RefusesImpossibleLengthsBeforeItWaitsForThem) {
  for (const std::uint32_t length : {0U, 3U, 1005U, 0x7FFF'FFFFU, 0x8000'0000U, 0xFFFF'FFFFU})
    EXPECT_EQ(read_pg_message("R" + pg_number(length), 1000).state, State::refused) << length;
}

TEST(PgError, IsOneMessageWhateverIsInIt) {
  const std::string whole =
      pg_error("28P01", std::string_view("no\0Cevil", 8), "Use the placeholder.");
  const auto read = read_pg_message(whole, 1000);
  EXPECT_EQ(read.size, whole.size());
  EXPECT_EQ(pg_error_state(read.body), "28P01");
  EXPECT_EQ(read.body, text("SFATAL") + text("VFATAL") + text("C28P01") + text("Mno") +
                           text("HUse the placeholder.") + text(""));
  for (const std::string& body :
       {std::string(), text(""), text("C28"), text("C28P01x"), text("C28P0\n"),
        std::string("C28P01"), text("") + text("C28P01")})
    EXPECT_EQ(pg_error_state(body), "?????") << testing::PrintToString(body);
}

}  // namespace
}  // namespace sallyport
