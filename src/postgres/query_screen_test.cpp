#include "postgres/query_screen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "postgres/known_functions.h"

namespace sallyport {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const MayRead kMayRead = [](std::string_view schema, std::string_view name) {
  return (schema.empty() || schema == "public") && (name == "orders" || name == "customers");
};

std::string verdict(std::string_view query) {
  const auto screened = screen_query(query, kMayRead);
  if (screened) return "fine";
  EXPECT_EQ(screened.error().reason, Reason::argument);
  EXPECT_FALSE(screened.error().hint.empty()) << query;
  return screened.error().message;
}

TEST(QueryScreen, LetsThroughWhatOnlyReads) {
  for (
      const char* query : {
          "SELECT 1",
          "select * from orders;",
          "TABLE orders",
          "VALUES (1, 'a'), (2, NULL)",
          "SELECT o.id, sum(o.total) OVER (PARTITION BY c.region ORDER BY o.id) FROM public.orders "
          "o LEFT JOIN customers c USING (id) WHERE o.total BETWEEN 1 AND $1 AND c.region = ANY "
          "(ARRAY['a', 'b']) AND o.note ILIKE '%x%' ORDER BY 1 DESC NULLS LAST LIMIT 10 OFFSET 2",
          "SELECT region, count(*) FILTER (WHERE id > 1), GROUPING(region) FROM customers GROUP BY "
          "GROUPING SETS ((region), ()) HAVING count(*) > 1",
          "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 9) SELECT * "
          "FROM t",
          "WITH a AS MATERIALIZED (SELECT 1 AS x), b AS (SELECT * FROM a) SELECT * FROM b, a",
          "SELECT CASE WHEN id IS NULL THEN 'a' ELSE COALESCE(note, 'b') END FROM orders",
          "SELECT EXTRACT(year FROM at), at AT TIME ZONE 'utc', at + interval '1 day', "
          "CURRENT_DATE, date_trunc('day', at) FROM orders",
          "SELECT (data -> 'a' ->> 'b')::int, data @> '{}'::jsonb FROM orders",
          "SELECT * FROM orders o, LATERAL (SELECT max(id) FROM customers WHERE id < o.id) m",
          "SELECT n FROM generate_series(1, 3) AS g(n)",
          "SELECT * FROM json_to_recordset('[]') AS x(a int, b text)",
          "(SELECT 1) UNION ALL (SELECT 2) INTERSECT SELECT 3",
          "SELECT DISTINCT ON (id) id FROM orders TABLESAMPLE bernoulli (10)",
          "SELECT ARRAY(SELECT id FROM orders), ROW(1, 2), NOT true, greatest(1, 2), nullif(1, 2)",
          "SELECT 'it''s -- no comment; DROP TABLE x' /* nor this: DELETE */ -- or that",
          "SELECT $$ pg_sleep(1) $$",
          "SELECT 1::int, '1'::numeric(4, 2), 'a'::varchar(3), '{1}'::int[], 'x'::text::bytea, "
          "'1 day'::interval, now()::timestamptz, true::boolean, '2026-01-01'::date, "
          "'10.0.0.1'::inet, CAST('a' AS char(3)), 1.5::double precision, '1'::bigint",
          "SELECT \"id\" COLLATE \"C\", x'1f', b'1' FROM \"orders\"",
          "SELECT pg_catalog.lower('A'), trim(both 'x' from 'xax'), substring('a' from 1 for 1), "
          "overlay('a' placing 'b' from 1), position('a' in 'b'), 'a' SIMILAR TO 'b'",
      })
    EXPECT_EQ(verdict(query), "fine") << query;
}

TEST(QueryScreen, SaysWhatIsWrongAndWhere) {
  EXPECT_THAT(verdict("SELECT *\n  FROM orders WHERE WHERE"), HasSubstr("line 2, column 21"));
  EXPECT_THAT(verdict("DELETE FROM orders"), HasSubstr("'DELETE'"));
  EXPECT_THAT(verdict("SELECT * FROM secrets"), HasSubstr("no table 'secrets'"));
  EXPECT_THAT(verdict("SELECT * FROM other.orders"), HasSubstr("'other.orders'"));
  EXPECT_THAT(verdict("SELECT pg_sleep(1)"), HasSubstr("'pg_sleep'"));
  EXPECT_THAT(verdict("SELECT 1; SELECT 2"), HasSubstr("2 statements"));
  EXPECT_THAT(verdict(" -- nothing"), HasSubstr("empty"));
  EXPECT_THAT(verdict("SELECT 'a'::regclass"), HasSubstr("'regclass'"));
  EXPECT_THAT(verdict("SELECT NULL::secrets"), HasSubstr("'secrets'"));
  EXPECT_THAT(verdict("SELECT json_populate_record(NULL::public.absent, '{}')"),
              HasSubstr("'absent'"));
  EXPECT_THAT(verdict("SELECT * FROM orders FOR NO KEY UPDATE"), HasSubstr("locks"));
  EXPECT_THAT(verdict(std::string("SELECT 1\0DROP", 13)), HasSubstr("NUL"));
  EXPECT_THAT(verdict("SELECT xmlelement(name a)"), HasSubstr("'XmlExpr'"));
}

// What PostgreSQL takes for a call although it does not look like one.
TEST(QueryScreen, SeesCallsThatLookLikeColumns) {
  for (const char* query :
       {"SELECT (0.01::float8).pg_sleep", "SELECT ('secrets'::text).to_regclass",
        "SELECT (('SELECT 1'::text).ts_stat).word", "SELECT (o.id).x FROM orders o",
        "SELECT (o).* FROM orders o", "SELECT (ARRAY[1])[1].pg_get_userbyid"})
    EXPECT_THAT(verdict(query), HasSubstr("(value).part")) << query;
  const auto names = screen_query(
      "SELECT g.regclass, o.id, public.orders.total, o.*, x FROM orders o, generate_series(1, 2) g "
      "ORDER BY o.note",
      kMayRead);
  ASSERT_TRUE(names);
  EXPECT_THAT(*names, testing::ElementsAre("id", "note", "regclass", "total"));
  EXPECT_TRUE(screen_query("SELECT (ARRAY[1, 2])[1], ('{1,2}'::int[])[1:2]", kMayRead));
}

// A name of WITH is a table where it is in sight, and nowhere else.
TEST(QueryScreen, KnowsWhereANameOfWithIsATable) {
  for (const char* query :
       {"WITH secrets AS (SELECT 1) SELECT * FROM secrets",
        "WITH secrets AS (SELECT 1) SELECT * FROM orders WHERE id IN (SELECT * FROM secrets)",
        "WITH RECURSIVE a AS (SELECT * FROM secrets), secrets AS (SELECT 1) SELECT * FROM a",
        "WITH secrets AS (SELECT 1) SELECT 1 UNION SELECT * FROM secrets"})
    EXPECT_EQ(verdict(query), "fine") << query;
  for (const char* query :
       {"WITH a AS (SELECT * FROM secrets), secrets AS (SELECT 1) SELECT * FROM a",
        "WITH secrets AS (SELECT * FROM secrets) SELECT * FROM secrets",
        "SELECT (WITH secrets AS (SELECT 1) SELECT 1) FROM secrets",
        "SELECT * FROM (WITH secrets AS (SELECT 1) SELECT 1) x, secrets",
        "(WITH secrets AS (SELECT 1) SELECT 1) UNION SELECT * FROM secrets",
        "WITH secrets AS (SELECT 1) SELECT * FROM public.secrets",
        "WITH x AS (SELECT 1) SELECT * FROM x, \"X\""})
    EXPECT_THAT(verdict(query), HasSubstr("no table")) << query;
}

TEST(QueryScreen, EndsWhateverItIsGiven) {
  const auto many = [](const std::string& piece, std::size_t count) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i)
      text += piece;
    return text;
  };
  EXPECT_NE(verdict("SELECT " + many("(", 30'000)), "fine");
  EXPECT_NE(verdict("SELECT " + many("NOT ", 15'000) + "true"), "fine");
  EXPECT_THAT(verdict("SELECT " + many("1+", 30'000) + "1"), HasSubstr("too deeply"));
  EXPECT_NE(verdict(many("SELECT (", 8'000)), "fine");
  EXPECT_EQ(verdict("SELECT 1 " + many("UNION ALL SELECT 1 ", 50)), "fine");
  EXPECT_THAT(verdict("SELECT '" + many("x", kLongestQuery) + "'"), HasSubstr("bytes"));
  EXPECT_EQ(verdict("SELECT '" + many("x", 60'000) + "'"), "fine");
}

TEST(KnownFunctions, AreThoseThatComputeAndNoOthers) {
  for (const char* name : {"lower", "sum", "jsonb_path_query", "generate_series", "to_char"})
    EXPECT_TRUE(is_known_function(name)) << name;
  for (const char* name : {"pg_sleep",
                           "pg_read_file",
                           "set_config",
                           "current_setting",
                           "query_to_xml",
                           "lo_get",
                           "dblink",
                           "nextval",
                           "txid_current",
                           "pg_terminate_backend",
                           "pg_advisory_lock",
                           "version",
                           "inet_server_addr",
                           "to_regclass",
                           "pg_typeof",
                           "ts_stat",
                           "currval",
                           "has_table_privilege",
                           "",
                           "LOWER"})
    EXPECT_FALSE(is_known_function(name)) << name;
}

}  // namespace
}  // namespace sallyport
