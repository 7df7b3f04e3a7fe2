#include "postgres/role.h"

#include <gtest/gtest.h>

namespace sallyport {
namespace {

TEST(PostgresRole, IsOneForEachToolAndForEachRoleThatNarrowsIt) {
  const PostgresAddress address{.host = "db", .database = "shop"};
  EXPECT_EQ(postgres_role(address, "query", ""), "sallyport_query");
  EXPECT_EQ(postgres_role(address, "query", "support"), "sallyport_query__support");
  const PostgresAddress named{.user = "reader", .host = "db", .database = "shop"};
  EXPECT_EQ(postgres_role(named, "query", ""), "reader");
  EXPECT_EQ(postgres_role(named, "query", "support"), "reader__support");
  const std::string a = postgres_role(address, std::string(80, 'a'), "x");
  const std::string b = postgres_role(address, std::string(80, 'a'), "y");
  EXPECT_EQ(a.size(), 63U);
  EXPECT_NE(a, b);
}

TEST(PostgresRole, HasAPasswordOfItsOwnAtEachServer) {
  const PostgresAddress one{.host = "db", .database = "shop"}, other{.host = "db2"};
  const std::string password = postgres_password("secret", one, "role");
  EXPECT_EQ(password.size(), 64U);
  EXPECT_EQ(password, postgres_password("secret", one, "role"));
  EXPECT_NE(password, postgres_password("another", one, "role"));
  EXPECT_NE(password, postgres_password("secret", other, "role"));
  EXPECT_NE(password, postgres_password("secret", one, "role2"));
}

}  // namespace
}  // namespace sallyport
