#include "sql/guard.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

namespace sallyport {
namespace {

class Guard : public testing::Test {
 protected:
  Guard() {
    guard_.record();
    EXPECT_EQ(ask(SQLITE_READ, "customers", "id", "secretname"), SQLITE_OK);
    EXPECT_EQ(ask(SQLITE_READ, "customers", "", nullptr), SQLITE_OK);
    guard_.allow({.name = "Customers", .columns = {{.name = "ID"}}});
    guard_.allow_parts_of("Docs");
    guard_.enforce();
  }

  int ask(int action, const char* first, const char* second, const char* schema,
          const char* within = nullptr) {
    return SqlGuard::ask(&guard_, action, first, second, schema, within);
  }

  SqlGuard guard_{"secretname"};
};

TEST_F(Guard, AllowsTheViewsAndWhatTheyWereSeenToRead) {
  EXPECT_EQ(ask(SQLITE_SELECT, nullptr, nullptr, nullptr), SQLITE_OK);
  EXPECT_EQ(ask(SQLITE_RECURSIVE, nullptr, nullptr, nullptr), SQLITE_OK);
  EXPECT_EQ(ask(SQLITE_READ, "customers", "id", "temp"), SQLITE_OK);
  EXPECT_EQ(ask(SQLITE_READ, "CUSTOMERS", "Id", "secretname", "customers"), SQLITE_OK);
  EXPECT_EQ(ask(SQLITE_READ, "customers", "", "temp"), SQLITE_OK);
  EXPECT_EQ(ask(SQLITE_READ, "docs_data", "block", "secretname"), SQLITE_OK);
  EXPECT_EQ(ask(SQLITE_READ, "json_each", "value", "main"), SQLITE_OK);
  EXPECT_EQ(ask(SQLITE_READ, "name_of_with", "", nullptr), SQLITE_OK);
  EXPECT_EQ(ask(SQLITE_FUNCTION, nullptr, "SUM", nullptr), SQLITE_OK);
  EXPECT_EQ(ask(SQLITE_PRAGMA, "data_version", nullptr, "secretname"), SQLITE_OK);
  EXPECT_FALSE(guard_.refused());
}

TEST_F(Guard, RefusesEverythingElse) {
  EXPECT_EQ(ask(SQLITE_READ, "customers", "secret", "temp"), SQLITE_DENY);
  EXPECT_EQ(ask(SQLITE_READ, "customers", "secret", "secretname", "customers"), SQLITE_DENY)
      << "whatever it is said to be within";
  EXPECT_EQ(ask(SQLITE_READ, "customers", "ROWID", "temp"), SQLITE_DENY);
  EXPECT_EQ(ask(SQLITE_READ, "customers", "id", "main"), SQLITE_DENY);
  EXPECT_EQ(ask(SQLITE_READ, "customers", "id", "other"), SQLITE_DENY);
  EXPECT_EQ(ask(SQLITE_READ, "customers", "id", nullptr), SQLITE_DENY);
  EXPECT_EQ(ask(SQLITE_READ, "secrets", "", "temp"), SQLITE_DENY);
  EXPECT_EQ(ask(SQLITE_READ, "secrets", "", "secretname"), SQLITE_DENY);
  EXPECT_EQ(ask(SQLITE_READ, "docs_data", "block", "temp"), SQLITE_DENY);
  EXPECT_EQ(ask(SQLITE_READ, "json_each", "value", "temp"), SQLITE_DENY);
  EXPECT_EQ(ask(SQLITE_READ, "sqlite_master", "sql", "main"), SQLITE_DENY);
  EXPECT_EQ(ask(SQLITE_READ, "pragma_table_list", "", nullptr), SQLITE_DENY);
  EXPECT_EQ(ask(SQLITE_FUNCTION, nullptr, "load_extension", nullptr), SQLITE_DENY);
  EXPECT_EQ(ask(SQLITE_FUNCTION, nullptr, nullptr, nullptr), SQLITE_DENY);
  EXPECT_EQ(ask(SQLITE_PRAGMA, "data_version", "1", "secretname"), SQLITE_DENY);
  EXPECT_EQ(ask(SQLITE_PRAGMA, "data_version", nullptr, "temp"), SQLITE_DENY);
  EXPECT_EQ(ask(SQLITE_PRAGMA, "query_only", "0", nullptr), SQLITE_DENY);
  // Every action there is, and some that there may be one day.
  for (int action = 0; action < 64; ++action) {
    if (action == SQLITE_SELECT || action == SQLITE_RECURSIVE) continue;
    EXPECT_EQ(ask(action, "x", "x", "main"), SQLITE_DENY) << action;
  }
}

TEST_F(Guard, RemembersTheFirstRefusal) {
  (void)ask(SQLITE_FUNCTION, nullptr, "edit", nullptr);
  (void)ask(SQLITE_INSERT, "orders", nullptr, "main");
  ASSERT_TRUE(guard_.refused());
  EXPECT_EQ(guard_.refused()->action, SQLITE_FUNCTION);
  EXPECT_EQ(guard_.refused()->what, "edit");
  guard_.forget();
  EXPECT_FALSE(guard_.refused());
}

}  // namespace
}  // namespace sallyport
