#include "input/postgres_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sallyport {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

PostgresAddress parsed(std::string_view text) {
  auto address = PostgresAddress::parse(text);
  EXPECT_TRUE(address) << text << ": " << address.error().message;
  return address.value_or(PostgresAddress{});
}

TEST(PostgresAddress, IsAHostWithTlsOrASocketOfThisMachine) {
  const auto far = parsed("postgres://reader@db.example.org:6432/shop?hostaddr=192.0.2.7");
  EXPECT_EQ(far.user, "reader");
  EXPECT_EQ(far.host, "db.example.org");
  EXPECT_EQ(far.port, 6432);
  EXPECT_EQ(far.database, "shop");
  EXPECT_THAT(far.addresses, ElementsAre("192.0.2.7"));
  EXPECT_TRUE(far.tls);
  EXPECT_FALSE(far.certificates.empty());

  const auto near = parsed("postgresql:///shop?host=/run/pg&port=5433");
  EXPECT_EQ(near.host, "/run/pg");
  EXPECT_EQ(near.port, 5433);
  EXPECT_TRUE(near.is_socket());
  EXPECT_FALSE(near.tls);
  EXPECT_EQ(parsed("postgres:///shop").host, "/var/run/postgresql");
}

TEST(PostgresAddress, IsInClearTextOnlyOnThisMachineOrWhenItSaysSo) {
  for (const char* text :
       {"postgres://localhost/shop", "postgres://127.0.0.1/shop", "postgres://[::1]:5432/shop",
        "postgres://db.example.org/shop?hostaddr=192.0.2.7&sslmode=disable"})
    EXPECT_FALSE(parsed(text).tls) << text;
  for (const char* text : {"postgres://10.0.0.1/shop", "postgres://[fd00::1]/shop",
                           "postgres://localhost/shop?sslmode=verify-full"})
    EXPECT_TRUE(parsed(text).tls) << text;
  EXPECT_EQ(parsed("postgres://db/shop?hostaddr=192.0.2.7&sslrootcert=/etc/db.pem").certificates,
            "/etc/db.pem");
}

TEST(PostgresAddress, RefusesWhatItDoesNotUnderstand) {
  for (const char* text : {"",
                           "sqlite:/x",
                           "postgres://",
                           "postgres://localhost",
                           "postgres://localhost/",
                           "postgres://localhost/a/b",
                           "postgres://localhost:0/shop",
                           "postgres://localhost:99999/shop",
                           "postgres://d b/shop",
                           "postgres://db/shop",
                           "postgres://db/shop?hostaddr=db2",
                           "postgres:///shop?hostaddr=192.0.2.7",
                           "postgres://localhost/shop?sslmode=prefer",
                           "postgres://localhost/shop?host=/run/pg",
                           "postgres:///shop?host=relative",
                           "postgres:///shop?host=/a/../b",
                           "postgres:///shop?x=1",
                           "postgres:///shop?sslmode=verify-full",
                           "postgres://[::1/shop",
                           "postgres://a@b@c/shop",
                           "postgres://localhost/sh;op",
                           "postgres://localhost/shop?options=-csearch_path"})
    EXPECT_FALSE(PostgresAddress::parse(text)) << text;
  const auto secret = PostgresAddress::parse("postgres://reader:hunter2@db/shop");
  ASSERT_FALSE(secret);
  EXPECT_THAT(secret.error().message, HasSubstr("password"));
  EXPECT_EQ(secret.error().message.find("hunter2"), std::string::npos);
}

}  // namespace
}  // namespace sallyport
