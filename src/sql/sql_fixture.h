// Databases for the tests of the sql tool.
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "sql/work.h"

namespace sallyport {

inline constexpr const char* kSecret = "MARKER-7f3a";

// A shop: `orders` and `regions` may be read, of `customers` two columns; `secrets` may not.
class SqlTest : public testing::Test {
 protected:
  SqlTest() {
    std::string pattern = testing::TempDir() + "sql_XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
    write(R"(
      CREATE TABLE orders(id INTEGER PRIMARY KEY, customer INTEGER, total REAL, note TEXT);
      INSERT INTO orders VALUES (1, 1, 9.5, 'first'), (2, 1, 20.0, NULL), (3, 2, 0.5, 'x');
      CREATE TABLE customers(id INTEGER PRIMARY KEY, region TEXT, secret TEXT, Email TEXT);
      INSERT INTO customers VALUES (1, 'north', 'MARKER-7f3a', 'a@x'), (2, 'south', 'MARKER-7f3a2', 'b@x');
      CREATE TABLE secrets(id INTEGER, secret TEXT);
      INSERT INTO secrets VALUES (1, 'MARKER-7f3a');
      CREATE VIEW regions AS SELECT region, count(*) AS number FROM customers WHERE secret LIKE 'MARKER%' GROUP BY region;
      CREATE VIEW leak AS SELECT id, secret AS s FROM customers;
      CREATE VIEW through_leak AS SELECT id, length(s) AS size FROM leak;
      CREATE INDEX by_secret ON customers(secret);
    )");
    order_.database = path();
    order_.tables = {
        {"orders", {}}, {"customers", {"id", "region"}}, {"regions", {}}, {"through_leak", {}}};
    order_.rule = "tools.query.tables";
  }
  ~SqlTest() override { std::filesystem::remove_all(directory_); }

  [[nodiscard]] std::string path() const { return directory_ + "/shop.db"; }

  // With a connection of the owner's own.
  void write(const std::string& sql) const {
    sqlite3* owner = nullptr;
    ASSERT_EQ(sqlite3_open(path().c_str(), &owner), SQLITE_OK);
    char* message = nullptr;
    EXPECT_EQ(sqlite3_exec(owner, sql.c_str(), nullptr, nullptr, &message), SQLITE_OK)
        << (message == nullptr ? "" : message);
    sqlite3_free(message);
    sqlite3_close(owner);
  }

  Result<json::object> ask(const std::string& query, json::value params = json::array()) {
    order_.query = query;
    order_.params = std::move(params);
    return do_sql_work(order_);
  }
  // The rows, or the error, as text.
  std::string rows(const std::string& query, json::value params = json::array()) {
    const auto answer = ask(query, std::move(params));
    return answer ? canonical_json(answer->at("rows")) : answer.error().message;
  }
  std::string refusal(const std::string& query) {
    const auto answer = ask(query);
    EXPECT_FALSE(answer) << query << "\n" << (answer ? canonical_json(*answer) : "");
    return answer ? "" : answer.error().message + " | " + answer.error().hint;
  }

  std::string directory_;
  SqlOrder order_;
};

}  // namespace sallyport
