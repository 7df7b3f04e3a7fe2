// The sql tool in its cell, through `sallyport call`, on a real database.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <filesystem>
#include <memory>

#include "support/cell_runner.h"

namespace sallyport::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

namespace json = boost::json;

struct Close {
  void operator()(sqlite3* handle) const { sqlite3_close(handle); }
};
using Owner = std::unique_ptr<sqlite3, Close>;

class Sql : public CellTest {
 protected:
  Sql() : directory_(GetParam()), host_(GetParam()) {
    run_as_owner(*open(), R"(
      CREATE TABLE orders(id INTEGER PRIMARY KEY, total REAL);
      INSERT INTO orders VALUES (1, 9.5), (2, 20.0);
      CREATE TABLE customers(id INTEGER PRIMARY KEY, region TEXT, secret TEXT);
      INSERT INTO customers VALUES (1, 'north', 'MARKER-1'), (2, 'south', 'MARKER-2');
      CREATE TABLE secrets(secret TEXT);
      INSERT INTO secrets VALUES ('MARKER-3');
      CREATE VIEW regions AS SELECT region, count(*) AS number FROM customers GROUP BY region;
    )");
    give();
    write_file(directory_ / "policy.yaml",
               "version: 1\n"
               "roles:\n"
               "  worker: [work]\n"
               "  support: { permissions: [work], tables: [orders] }\n"
               "callers: { agent: { role: worker }, helpdesk: { role: support } }\n"
               "defaults: { rate: 1000/min, output: { redact: [] } }\n"
               "tools:\n"
               "  query:\n"
               "    use: sql\n"
               "    needs: [work]\n"
               "    database: sqlite:" +
                   path() +
                   "\n"
                   "    tables: { orders: all, customers: [id, region], regions: all }\n"
                   "    rows: 3\n"
                   "    limits: { timeout: 5s }\n",
               GetParam());
  }

  [[nodiscard]] std::string path() const { return host_ / "shop.db"; }
  [[nodiscard]] Owner open() const {
    sqlite3* handle = nullptr;
    EXPECT_EQ(sqlite3_open(path().c_str(), &handle), SQLITE_OK);
    return Owner(handle);
  }
  static void run_as_owner(sqlite3& owner, const std::string& sql) {
    char* message = nullptr;
    EXPECT_EQ(sqlite3_exec(&owner, sql.c_str(), nullptr, nullptr, &message), SQLITE_OK) << message;
    sqlite3_free(message);
  }
  // All files of the database to whoever runs the program.
  void give() const {
    if (GetParam() == As::user)
      for (const auto& file : std::filesystem::directory_iterator(host_.path()))
        EXPECT_EQ(::chown(file.path().c_str(), kUserUid, kUserGid), 0);
  }

  json::object call(const json::object& arguments, const std::string& as = "agent",
                    const std::vector<std::string>& more = {}) {
    std::vector<std::string> argv = {
        sallyport_path(),           "call",   "query",  "--policy",
        directory_ / "policy.yaml", "--as",   as,       "--state",
        directory_ / "state",       "--json", "--args", json::serialize(arguments)};
    argv.insert(argv.end(), more.begin(), more.end());
    return run(argv, {.as = GetParam(), .cwd = directory_.path()}).json();
  }
  std::string rows(const std::string& query) {
    const auto result = call({{"query", query}});
    const json::value* data = result.if_contains("data");
    return data != nullptr && data->is_object() ? json::serialize(data->at("rows"))
                                                : json::serialize(result);
  }

  TempDir directory_;  // of the caller
  TempDir host_;       // of the database
};

std::string text(const json::object& object, const char* key) {
  const auto* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->as_string()) : "";
}

TEST_P(Sql, AnswersAQueryWithTypedRows) {
  const auto result = call({{"query",
                             "SELECT region, total FROM orders JOIN customers USING (id) "
                             "WHERE total > :least ORDER BY 1"},
                            {"params", {{"least", 1}}}});
  EXPECT_EQ(text(result, "status"), "success") << json::serialize(result);
  const json::object& data = result.at("data").as_object();
  EXPECT_EQ(json::serialize(data.at("rows")), R"([["north",9.5E0],["south",2E1]])");
  EXPECT_FALSE(data.at("truncated").as_bool());
  EXPECT_EQ(data.at("columns").at(0).at("name"), "region");
  EXPECT_EQ(
      text(call({{"query", "SELECT id FROM orders"}, {"format", "csv"}}).at("data").as_object(),
           "csv"),
      "id\r\n1\r\n2\r\n");
}

TEST_P(Sql, RefusesWhatIsNotAllowedAndSaysWhatIs) {
  for (const char* query :
       {"SELECT secret FROM customers", "SELECT * FROM secrets", "SELECT count(*) FROM secrets",
        "SELECT 1 FROM (SELECT 'MARKER-3' AS secret) NATURAL JOIN secrets",
        "WITH regions AS (SELECT secret FROM customers) SELECT * FROM regions",
        "SELECT sql FROM sqlite_master", "SELECT load_extension('x')", "DELETE FROM orders",
        "ATTACH '/etc/passwd' AS p", "SELECT 1; SELECT 2", "PRAGMA query_only=OFF"}) {
    const auto result = call({{"query", query}});
    EXPECT_EQ(text(result, "status"), "error") << query << json::serialize(result);
    EXPECT_EQ(text(result, "reason"), "exit") << query;
    EXPECT_THAT(json::serialize(result), Not(HasSubstr("MARKER-1"))) << query;
  }
  EXPECT_THAT(text(call({{"query", "SELECT secret FROM customers"}}), "error"),
              AllOf(HasSubstr("there is no column 'secret'"),
                    HasSubstr("tools.query.tables allows to read: customers (id, region), orders "
                              "(id, total), regions (region, number)")));
  EXPECT_EQ(rows("SELECT count(*) FROM orders"), "[[2]]");
}

TEST_P(Sql, NarrowsTablesByRole) {
  const auto result = call({{"query", "SELECT id FROM customers"}}, "helpdesk");
  EXPECT_EQ(text(result, "status"), "error");
  EXPECT_THAT(text(result, "error"),
              HasSubstr("tools.query.tables (with roles.support.tables) allows to read: orders "
                        "(id, total);"));
  EXPECT_EQ(text(call({{"query", "SELECT id FROM orders"}}, "helpdesk"), "status"), "success");
}

TEST_P(Sql, ListsAndDescribesTables) {
  const auto list = call({{"action", "list_tables"}});
  EXPECT_EQ(text(list, "status"), "success") << json::serialize(list);
  EXPECT_EQ(list.at("data").at("tables").as_array().size(), 3U);
  EXPECT_THAT(json::serialize(list), Not(HasSubstr("secret")));
  const auto table = call({{"action", "describe_table"}, {"table", "customers"}});
  EXPECT_EQ(table.at("data").at("columns").as_array().size(), 2U) << json::serialize(table);
  // Arguments that do not belong together.
  for (const json::object& arguments :
       {json::object{}, json::object{{"action", "list_tables"}, {"query", "SELECT 1"}},
        json::object{{"action", "describe_table"}},
        json::object{{"query", "SELECT 1"}, {"table", "orders"}},
        json::object{{"query", "SELECT 1"}, {"action", "drop"}},
        json::object{{"query", "SELECT ?"}, {"params", {{{"a", 1}}}}},
        json::object{{"query", "SELECT 1"}, {"database", "sqlite:/etc/passwd"}}})
    EXPECT_EQ(text(call(arguments), "reason"), "argument") << json::serialize(arguments);
  EXPECT_EQ(text(call({{"query", "SELECT 1"}}, "agent", {"--in", "/etc/hostname"}), "status"),
            "blocked");
}

TEST_P(Sql, StopsAtRowsAndTime) {
  const auto result = call({{"query", "VALUES (1), (2), (3), (4)"}});
  EXPECT_EQ(json::serialize(result.at("data").at("rows")), "[[1],[2],[3]]");
  EXPECT_TRUE(result.at("data").at("truncated").as_bool());
  const auto endless = call({{"query",
                              "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM "
                              "r) SELECT max(n) FROM r"}},
                            "agent", {"--limit", "timeout=500ms"});
  EXPECT_NE(text(endless, "status"), "success") << json::serialize(endless);
}

TEST_P(Sql, SeesALiveDatabaseAsItIsAndWritesNothingBesideIt) {
  Owner owner = open();
  run_as_owner(*owner,
               "PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0; "
               "INSERT INTO orders VALUES (3, 1)");
  give();
  ASSERT_TRUE(std::filesystem::exists(path() + "-wal"));
  EXPECT_EQ(rows("SELECT count(*) FROM orders"), "[[3]]");
  run_as_owner(*owner, "INSERT INTO orders VALUES (4, 1)");
  EXPECT_EQ(rows("SELECT count(*) FROM orders"), "[[4]]");
  owner.reset();  // the log is brought in, and removed
  ASSERT_FALSE(std::filesystem::exists(path() + "-wal"));
  EXPECT_EQ(rows("SELECT count(*) FROM orders"), "[[4]]");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(host_.path()), {}), 1);
}

TEST_P(Sql, SaysWhenTheDatabaseIsNotThere) {
  std::filesystem::remove(path());
  const auto result = call({{"query", "SELECT 1"}});
  EXPECT_EQ(text(result, "status"), "blocked") << json::serialize(result);
  EXPECT_FALSE(std::filesystem::exists(path()));
}

SALLYPORT_FOR_ROOT_AND_USER(Sql);

}  // namespace
}  // namespace sallyport::test
