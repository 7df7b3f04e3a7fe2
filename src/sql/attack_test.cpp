// What a hostile query tries, against tables of which it may read a part.
#include <gmock/gmock.h>

#include "sql/functions.h"
#include "sql/sql_fixture.h"

namespace sallyport {
namespace {

using testing::HasSubstr;
using testing::Not;

using SqlAttack = SqlTest;

// Each of them would show the secret, or whether it has a given value.
constexpr const char* kReads[] = {
    "SELECT secret FROM customers", "SELECT customers.secret FROM customers",
    "SELECT c.\"secret\" FROM customers c", "SELECT [secret] FROM customers",
    "SELECT `secret` FROM customers", "SELECT SECRET FROM Customers",
    "SELECT se/**/cret FROM customers", "SELECT email FROM customers",
    "SELECT id FROM customers WHERE secret LIKE 'MARKER%'",
    "SELECT id FROM customers ORDER BY secret", "SELECT count(*) FROM customers GROUP BY secret",
    "SELECT count(*) FROM customers GROUP BY id HAVING max(secret) > 'A'",
    "SELECT count(secret) FROM customers",
    "SELECT max(id) FILTER (WHERE secret > '') FROM customers",
    "SELECT sum(id) OVER (PARTITION BY secret) FROM customers",
    "SELECT (SELECT secret FROM customers LIMIT 1)", "SELECT * FROM (SELECT secret FROM customers)",
    "SELECT * FROM orders WHERE EXISTS (SELECT 1 FROM customers WHERE secret > '')",
    "SELECT 1 IN (SELECT secret FROM customers)", "SELECT * FROM secrets", "SELECT 1 FROM secrets",
    "SELECT count(*) FROM secrets", "SELECT * FROM orders, secrets",
    "SELECT * FROM orders JOIN secrets ON 1", "SELECT * FROM orders LEFT JOIN secrets ON 1",
    "SELECT * FROM orders UNION SELECT 1, 2, 3, secret FROM secrets",
    "SELECT 1 EXCEPT SELECT id FROM secrets", "SELECT 'MARKER-7f3a' IN secrets",
    "SELECT 1 WHERE EXISTS (SELECT * FROM secrets)",
    "WITH x AS (SELECT secret FROM customers) SELECT * FROM x",
    // A name of WITH that is the name of an allowed view or table.
    "WITH regions AS (SELECT secret FROM customers) SELECT * FROM regions",
    "WITH orders AS (SELECT secret FROM customers) SELECT * FROM orders",
    "WITH through_leak AS (SELECT * FROM leak) SELECT * FROM through_leak",
    "WITH leak AS (SELECT secret FROM customers) SELECT * FROM through_leak, leak",
    "WITH RECURSIVE r(s) AS (SELECT secret FROM secrets UNION SELECT s FROM r) SELECT * FROM r",
    // SQLite does not ask about these columns.
    "SELECT 1 FROM (SELECT 'MARKER-7f3a' AS secret) JOIN customers USING (secret)",
    "SELECT 1 FROM (SELECT 'MARKER-7f3a' AS secret) JOIN secrets USING (secret)",
    "SELECT 1 FROM (SELECT 'MARKER-7f3a' AS secret) NATURAL JOIN secrets",
    "SELECT 1 FROM customers AS a JOIN customers AS b USING (secret)",
    "SELECT 1 FROM (SELECT 1 AS id) NATURAL JOIN leak",
    // Another schema for the same name.
    "SELECT * FROM main.customers", "SELECT * FROM temp.secrets",
    "SELECT secret FROM temp.customers",
    "SELECT 1 FROM (SELECT 'x' AS secret) JOIN main.secrets USING (secret)",
    // A view that is not listed.
    "SELECT * FROM leak", "SELECT count(*) FROM leak", "SELECT 1 FROM leak",
    "SELECT 1 FROM orders WHERE EXISTS (SELECT 1 FROM leak)",
    // What SQLite has of its own.
    "SELECT * FROM sqlite_master", "SELECT * FROM sqlite_schema",
    "SELECT sql FROM sqlite_temp_master", "SELECT * FROM main.sqlite_schema",
    "SELECT * FROM temp.\"sqlite_temp_schema\"", "SELECT * FROM [SQLITE_MASTER]",
    "SELECT 1 FROM (SELECT 'x' AS name) JOIN sqlite_master USING (name)",
    "SELECT * FROM sqlite_sequence", "SELECT * FROM sqlite_stat1",
    "SELECT * FROM pragma_table_list", "SELECT * FROM pragma_table_info('secrets')",
    "SELECT * FROM pragma_database_list", "SELECT count(*) FROM pragma_database_list",
    "SELECT 1 FROM (SELECT 'temp' AS name) JOIN pragma_database_list USING (name)",
    "SELECT * FROM dbstat",
    "SELECT 1 FROM (SELECT 'secrets' AS name) JOIN dbstat('temp') USING (name)",
    "SELECT * FROM sqlite_stmt", "SELECT * FROM sqlite_dbpage", "SELECT rowid FROM customers",
    "SELECT _rowid_, oid FROM secrets",
    "SELECT \"MARKER\" FROM orders",  // a name, never a text
};

TEST_F(SqlAttack, ReadsNoColumnAndNoTableThatIsNotAllowed) {
  for (const char* query : kReads) {
    const std::string said = refusal(query);
    EXPECT_THAT(said, Not(HasSubstr(kSecret))) << query;
  }
}

// The list above refuses for the right reason: with everything allowed, what is SQL is answered.
TEST_F(SqlAttack, FailsOnlyForWhatIsAllowed) {
  order_.tables.clear();
  order_.all_tables = true;
  for (const char* query :
       {"SELECT secret FROM customers", "SELECT * FROM orders, secrets",
        "SELECT count(*) FROM leak",
        "SELECT 1 FROM (SELECT 'MARKER-7f3a' AS secret) NATURAL JOIN secrets",
        "WITH regions AS (SELECT secret FROM customers) SELECT * FROM regions",
        "SELECT 1 FROM (SELECT 'MARKER-7f3a' AS secret) JOIN customers USING (secret)"}) {
    const auto answer = ask(query);
    ASSERT_TRUE(answer) << query << answer.error().message;
    EXPECT_GE(answer->at("row_count").as_int64(), 1) << query;
  }
  for (const char* query : {"SELECT * FROM sqlite_master", "SELECT * FROM pragma_table_list",
                            "SELECT * FROM dbstat", "SELECT * FROM main.sqlite_schema"})
    refusal(query);
}

constexpr const char* kActs[] = {
    "INSERT INTO orders VALUES (9, 9, 9, 9)",
    "UPDATE orders SET total = 0",
    "DELETE FROM orders",
    "REPLACE INTO orders VALUES (9, 9, 9, 9)",
    "WITH x AS (SELECT 1) INSERT INTO orders SELECT 1, 2, 3, 4",
    "WITH x AS (SELECT 1) DELETE FROM orders",
    "WITH x AS (SELECT 1) UPDATE orders SET total = 1 RETURNING *",
    "CREATE TABLE x(a)",
    "CREATE TEMP TABLE x AS SELECT * FROM orders",
    "CREATE TRIGGER t AFTER INSERT ON orders BEGIN SELECT 1; END",
    "CREATE VIRTUAL TABLE f USING fts5(a)",
    "DROP TABLE orders",
    "ALTER TABLE orders RENAME TO x",
    "ATTACH '/etc/passwd' AS p",
    "ATTACH ':memory:' AS p",
    "DETACH main",
    "PRAGMA table_list",
    "PRAGMA writable_schema=ON",
    "PRAGMA query_only=OFF",
    "PRAGMA temp_store_directory='/tmp'",
    "VACUUM",
    "VACUUM INTO '/tmp/sallyport_sql_copy.db'",
    "ANALYZE",
    "REINDEX",
    "BEGIN",
    "COMMIT",
    "ROLLBACK",
    "SAVEPOINT s",
    "EXPLAIN SELECT * FROM orders",
    "EXPLAIN QUERY PLAN SELECT * FROM orders",
    "SELECT 1; DELETE FROM orders",
    "SELECT 1; SELECT 2",
    "SELECT 1;; ; SELECT 2",
    "SELECT 1; /* */ PRAGMA query_only=OFF",
    "SELECT 1; garbage",
    "SELECT load_extension('x')",
    "SELECT readfile('/etc/passwd')",
    "SELECT writefile('/tmp/x', 'y')",
    "SELECT edit('x')",
    "SELECT fts3_tokenizer('simple')",
    "SELECT fts3_tokenizer('simple', x'00')",
    "SELECT sqlite_version()",
    "SELECT sqlite_compileoption_get(0)",
    "SELECT randomblob(1000000000)",
    "SELECT zeroblob(1000000000)",
    "SELECT hex(zeroblob(1000))",
    "SELECT last_insert_rowid()",
    "SELECT * FROM orders WHERE note REGEXP 'x'",
    "SELECT geopoly_json('x')",
    "",
    "   ",
    "-- nothing",
    "/* SELECT 1",
    ";",
    "SELECT",
    "SELEC 1",
    "\xef\xbb\xbf\xef\xbb\xbf",
};

TEST_F(SqlAttack, DoesNothingButRead) {
  for (const char* query : kActs)
    refusal(query);
  EXPECT_EQ(rows("SELECT count(*) FROM orders"), "[[3]]");
  EXPECT_FALSE(std::filesystem::exists("/tmp/sallyport_sql_copy.db"));
  // Nothing was written beside the database either.
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_), {}), 1);
}

TEST_F(SqlAttack, CannotTellWhatIsForbiddenFromWhatIsNotThere) {
  const auto same = [&](std::string query) {
    std::string there = query, absent = query;
    for (std::size_t at = 0; (at = there.find("NAME", at)) != std::string::npos;)
      there.replace(at, 4, "secrets");
    for (std::size_t at = 0; (at = absent.find("NAME", at)) != std::string::npos;)
      absent.replace(at, 4, "absents");
    std::string said = refusal(there);
    for (std::size_t at = 0; (at = said.find("secrets")) != std::string::npos;)
      said.replace(at, 7, "absents");
    EXPECT_EQ(said, refusal(absent)) << query;
  };
  for (const char* query : {"SELECT * FROM NAME",
                            "SELECT count(*) FROM NAME",
                            "SELECT * FROM NAME(1)",
                            "SELECT * FROM temp.NAME",
                            "SELECT * FROM main.NAME",
                            "SELECT 1 IN NAME",
                            "SELECT * FROM NAME INDEXED BY x",
                            "SELECT NAME.x FROM orders",
                            "SELECT 1 FROM (SELECT 1 AS id) JOIN NAME USING (id)",
                            "SELECT 1 FROM (SELECT 1 AS id) JOIN NAME USING (q)",
                            "SELECT * FROM orders NATURAL JOIN NAME",
                            "INSERT INTO NAME VALUES (1)",
                            "WITH x AS (SELECT 1) INSERT INTO NAME VALUES (1)",
                            "WITH x AS (SELECT 1) DELETE FROM NAME",
                            "WITH x AS (SELECT 1) UPDATE NAME SET a = 1",
                            "WITH x AS (SELECT 1) REPLACE INTO NAME VALUES (1)",
                            "DROP TABLE NAME",
                            "CREATE TABLE NAME(a)",
                            "ALTER TABLE NAME RENAME TO x",
                            "PRAGMA table_info(NAME)",
                            "SELECT nosuch FROM NAME",
                            "SELECT * FROM NAME WHERE (",
                            "SELECT * FROM NAME, alsonot",
                            "SELECT * FROM \"NAME\" AS orders"})
    same(query);
  // In another spelling, and as a name of WITH, where it is nobody else's business.
  EXPECT_EQ(refusal("SELECT * FROM SECRETS"), refusal("SELECT * FROM secrets"));
  EXPECT_EQ(rows("WITH secrets AS (SELECT 1) SELECT count(*) FROM secrets"), "[[1]]");
  EXPECT_EQ(rows("WITH secrets(a) AS (SELECT 1) SELECT a FROM secrets"), "[[1]]");
  // Columns as well.
  std::string said = refusal("SELECT secret FROM customers");
  for (std::size_t at = 0; (at = said.find("secret")) != std::string::npos;)
    said.replace(at, 6, "absent");
  EXPECT_EQ(said, refusal("SELECT absent FROM customers"));
}

// A function that fails on a row that the view leaves out would tell of that row.
TEST_F(SqlAttack, CannotLookPastTheConditionOfAView) {
  write(
      "CREATE TABLE open_regions AS SELECT 'north' AS region;"
      "CREATE VIEW north AS SELECT c.id, c.secret FROM customers c CROSS JOIN open_regions o WHERE "
      "o.region = c.region");
  order_.tables["north"] = {};
  EXPECT_EQ(rows("SELECT id FROM north WHERE CASE WHEN secret LIKE '%2' THEN json('{') ELSE 1 END"),
            "[[1]]");
  EXPECT_EQ(rows("SELECT id FROM north WHERE id = 2"), "[]");
}

TEST_F(SqlAttack, EndsBombs) {
  order_.milliseconds = 300;
  for (const char* query :
       {"WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT max(n) FROM r",
        "SELECT count(*) FROM json_each('[1,2,3,4,5,6,7,8,9]') a, json_each('[1,2,3,4,5,6,7,8,9]') "
        "b, "
        "orders, orders o2, orders o3, orders o4, orders o5, orders o6, orders o7, orders o8, "
        "orders "
        "o9, orders p1, orders p2, orders p3, orders p4, orders p5"}) {
    const auto answer = ask(query);
    ASSERT_FALSE(answer) << query;
    EXPECT_EQ(answer.error().reason, Reason::timeout) << answer.error().message;
  }
  order_.milliseconds = 20'000;
  order_.memory = std::uint64_t{16} << 20;
  // Not much longer ones: with a sanitizer's realloc, SQLite's printf takes minutes for them.
  for (const char* query :
       {"WITH RECURSIVE r(n, s) AS (SELECT 1, 'x' UNION ALL SELECT n + 1, s || s FROM r) SELECT "
        "max(length(s)) FROM r",
        "SELECT replace(printf('%.*c', 2000000, 'x'), 'x', "
        "'yyyyyyyyyyyyyyyy')",
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 5000) SELECT "
        "group_concat(printf('%.*c', 100000, 'x')) FROM r"}) {
    const auto answer = ask(query);
    ASSERT_FALSE(answer) << query;
    EXPECT_THAT(answer.error().reason,
                testing::AnyOf(Reason::memory, Reason::argument, Reason::result_too_large))
        << answer.error().message;
  }
  // The heap's limit is the process's, and other tests are in it.
  sqlite3_hard_heap_limit64(0);
  std::string deep = "SELECT ";
  for (int i = 0; i < 5000; ++i)
    deep += "(";
  refusal(deep + "1");
  std::string wide = "SELECT 1";
  for (int i = 0; i < 60; ++i)
    wide += " UNION SELECT 1";
  refusal(wide);
  refusal("SELECT '" + std::string(200'000, 'x') + "'");
}

TEST_F(SqlAttack, FunctionsAreAllowedByName) {
  for (const char* name : {"load_extension", "LOAD_EXTENSION", "readfile", "fts3_tokenizer",
                           "sqlite_log", "subtype", "", "Sum ", "eval"})
    EXPECT_FALSE(is_allowed_function(name)) << name;
  for (const char* name : {"sum", "SUM", "->>", "json_extract"})
    EXPECT_TRUE(is_allowed_function(name)) << name;
}

// The owner of the database may have been careless, or is not trusted at all.
TEST_F(SqlAttack, SchemaOfTheDatabaseDoesNotReachOut) {
  write(R"(
    CREATE VIEW loads AS SELECT load_extension('/tmp/x.so') AS x;
    CREATE VIEW inner_names AS WITH hidden AS (SELECT secret FROM customers) SELECT count(*) AS n FROM hidden;
    CREATE VIEW broken AS SELECT * FROM gone;
    CREATE TABLE "we""ird ]`'; --"(x);
    INSERT INTO "we""ird ]`'; --" VALUES ('w');
  )");
  for (const char* name : {"loads", "inner_names", "broken"})
    order_.tables[name] = {};
  refusal("SELECT * FROM loads");
  refusal("SELECT * FROM broken");
  EXPECT_EQ(rows("SELECT n FROM inner_names"), "[[2]]");
  refusal("WITH hidden AS (SELECT secret FROM customers) SELECT * FROM inner_names, hidden");
  refusal("SELECT * FROM \"we\"\"ird ]`'; --\"");
  order_.all_tables = true;
  EXPECT_EQ(rows("SELECT * FROM \"we\"\"ird ]`'; --\""), R"([["w"]])");
}

TEST_F(SqlAttack, ANarrowedTableStaysNarrowBesideAllOthers) {
  order_.all_tables = true;
  order_.tables = {{"CUSTOMERS", {"ID"}}};
  EXPECT_EQ(rows("SELECT * FROM customers"), "[[1],[2]]");
  refusal("SELECT region FROM customers");
  EXPECT_EQ(rows("SELECT id FROM secrets"), "[[1]]");
  // A view would show the rest of it, unless it is listed.
  refusal("SELECT * FROM leak");
  order_.tables["leak"] = {};
  EXPECT_EQ(rows("SELECT count(s) FROM leak"), "[[2]]");
  // Two rules for one table: neither is taken.
  order_.tables = {{"customers", {"id"}}, {"Customers", {}}};
  refusal("SELECT id FROM customers");
}

}  // namespace
}  // namespace sallyport
