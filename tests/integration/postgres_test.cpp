// The sql tool on a real PostgreSQL server: roles made by `sallyport sql prepare`, calls through
// their cells.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "postgres/connect.h"
#include "postgres/connection.h"
#include "postgres/role.h"
#include "support/postgres_server.h"

namespace sallyport::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

namespace json = boost::json;

constexpr const char* kShop = R"(
  CREATE TABLE orders(id int PRIMARY KEY, total numeric NOT NULL, note text, at date);
  INSERT INTO orders SELECT n, n * 1.5, 'note ' || n, '2026-01-01' FROM generate_series(1, 20) n;
  CREATE TABLE customers(id bigint PRIMARY KEY, region text, secret text);
  INSERT INTO customers VALUES (1, 'north', 'MARKER-1'), (9007199254740993, 'south', 'MARKER-2');
  CREATE TABLE secrets(secret text);
  INSERT INTO secrets VALUES ('MARKER-3');
  CREATE VIEW regions AS SELECT region, count(*) AS number FROM customers GROUP BY region;
  CREATE SCHEMA sales;
  CREATE TABLE sales.leads(id int, data jsonb, file bytea, hot boolean, score float8);
  INSERT INTO sales.leads VALUES (1, '{"a": [1, 2]}', '\x00ff', true, 1.5),
                                 (2, NULL, NULL, false, 'NaN');
)";

std::string text(const json::object& object, const char* key) {
  const auto* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->as_string()) : "";
}

class Postgres : public CellTest {
 protected:
  Postgres() : directory_(GetParam()) {
    server_.begin();
    server_.does("CREATE DATABASE shop", "postgres");
    server_.does(kShop);
    write_policy();
  }

  void write_policy(const std::string& tables =
                        "{ orders: all, customers: [id, region], regions: all, sales.leads: all }",
                    const std::string& address = "") {
    policy_ =
        "version: 1\n"
        "roles:\n"
        "  worker: [work]\n"
        "  support: { permissions: [work], tables: { orders: [id, total] } }\n"
        "callers: { agent: { role: worker }, helpdesk: { role: support } }\n"
        "defaults: { rate: 10000/min, output: { redact: [] } }\n"
        "tools:\n"
        "  query:\n"
        "    use: sql\n"
        "    needs: [work]\n"
        "    database: " +
        (address.empty() ? server_.socket_address() : address) +
        "\n"
        "    tables: " +
        tables +
        "\n"
        "    rows: 5\n"
        "    limits: { timeout: 5s }\n";
    write_file(directory_ / "policy.yaml", policy_, GetParam());
  }

  Ran sql(const std::string& verb, std::vector<std::string> more = {}) {
    std::vector<std::string> argv = {
        sallyport_path(),    "sql", verb, "--policy", directory_ / "policy.yaml", "--state",
        directory_ / "state"};
    argv.insert(argv.end(), more.begin(), more.end());
    return run(argv);
  }
  // The state directory is that of whoever calls; root works in it as its owner.
  void own_the_state() {
    if (GetParam() == As::root) return;
    std::filesystem::create_directory(directory_ / "state");
    EXPECT_EQ(::chmod((directory_ / "state").c_str(), 0700), 0);
    EXPECT_EQ(::chown((directory_ / "state").c_str(), kUserUid, kUserGid), 0);
  }
  void prepared() {
    own_the_state();
    const Ran ran = sql("prepare");
    EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
  }

  json::object call(const json::object& arguments, const std::string& as = "agent") {
    return run({sallyport_path(), "call", "query", "--policy", directory_ / "policy.yaml", "--as",
                as, "--state", directory_ / "state", "--json", "--args",
                json::serialize(arguments)},
               {.as = GetParam(), .cwd = directory_.path()})
        .json();
  }
  std::string rows(const std::string& query, const std::string& as = "agent") {
    const auto result = call({{"query", query}}, as);
    const json::value* data = result.if_contains("data");
    return data != nullptr && data->is_object() ? json::serialize(data->at("rows"))
                                                : json::serialize(result);
  }

  PostgresServer server_;
  TempDir directory_;
  std::string policy_;
};

TEST_P(Postgres, AnswersWithTypedRows) {
  // Nobody is let in before the roles are made.
  EXPECT_THAT(json::serialize(call({{"query", "SELECT 1"}})), HasSubstr("sallyport sql prepare"));
  prepared();
  const auto result = call({{"query",
                             "SELECT o.id, total, region, at FROM orders o JOIN customers c "
                             "USING (id) WHERE total > $1"},
                            {"params", {1}}});
  EXPECT_EQ(text(result, "status"), "success") << json::serialize(result);
  const json::object& data = result.at("data").as_object();
  EXPECT_EQ(json::serialize(data.at("rows")), R"([[1,"1.5","north","2026-01-01"]])");
  EXPECT_EQ(json::serialize(data.at("columns").at(1)),
            R"({"declared":"numeric","name":"total","type":"numeric"})");
  EXPECT_EQ(rows("SELECT * FROM sales.leads ORDER BY id"),
            R"([[1,{"a":[1,2]},{"base64":"AP8="},true,1.5E0],[2,null,null,false,"NaN"]])");
  EXPECT_EQ(rows("SELECT id FROM customers ORDER BY id"), R"([[1],["9007199254740993"]])");
  EXPECT_EQ(rows("SELECT number FROM regions"), "[[1],[1]]");
  EXPECT_EQ(rows("WITH t AS (SELECT sum(total) AS s FROM orders) SELECT round(s) FROM t"),
            R"([["315"]])");

  const auto many = call({{"query", "SELECT id FROM orders ORDER BY id"}, {"format", "csv"}});
  EXPECT_TRUE(many.at("data").at("truncated").as_bool());
  EXPECT_THAT(text(many.at("data").as_object(), "csv"), HasSubstr("5"));
  EXPECT_EQ(many.at("data").at("row_count"), 5);

  const auto tables = call({{"action", "list_tables"}});
  EXPECT_THAT(json::serialize(tables.at("data")),
              AllOf(HasSubstr(R"("name":"sales.leads")"), HasSubstr(R"("kind":"view")"),
                    HasSubstr(R"("missing":[])"), Not(HasSubstr("secret"))));
  const auto table = call({{"action", "describe_table"}, {"table", "customers"}});
  EXPECT_EQ(json::serialize(table.at("data").at("columns")),
            R"([{"key":true,"name":"id","required":true,"type":"bigint"},)"
            R"({"key":false,"name":"region","required":false,"type":"text"}])");
}

// Each of them is refused by the screen or by the server, and none shows what is not allowed. Those
// of the second list get past the screen when it is left out: there the server alone says no.
TEST_P(Postgres, ReadsNothingThatIsNotAllowedAndDoesNothingButRead) {
  prepared();
  for (const char* query :
       {"SELECT * FROM secrets",
        "SELECT secret FROM customers",
        "SELECT * FROM customers",
        "SELECT customers FROM customers",
        "SELECT customers.* FROM customers",
        "SELECT row_to_json(c) FROM customers c",
        "SELECT (c).secret FROM customers c",
        "SELECT id FROM customers WHERE secret LIKE 'M%'",
        "SELECT id FROM customers ORDER BY secret",
        "SELECT count(secret) FROM customers",
        "SELECT id FROM customers GROUP BY id, secret",
        "SELECT * FROM customers NATURAL JOIN secrets",
        "SELECT o.id FROM orders o JOIN customers c ON c.secret = o.note",
        "SELECT * FROM public.secrets",
        "SELECT * FROM shop.public.secrets",
        "SELECT * FROM \"secrets\"",
        "TABLE secrets",
        "SELECT 1 UNION SELECT 2 FROM secrets",
        "SELECT (SELECT secret FROM secrets)",
        "WITH a AS (SELECT * FROM secrets) SELECT * FROM a",
        "WITH a AS (SELECT * FROM secrets), secrets AS (SELECT 1) SELECT * FROM a",
        "SELECT (WITH secrets AS (SELECT 1) SELECT 1), secret FROM secrets",
        "SELECT (WITH pg_roles AS (SELECT 1) SELECT 1), rolname FROM pg_roles",
        "SELECT * FROM orders, LATERAL (SELECT * FROM secrets) s",
        "SELECT relname FROM pg_class",
        "SELECT * FROM pg_catalog.pg_stats",
        "SELECT * FROM information_schema.tables",
        "SELECT * FROM pg_stat_activity",
        "SELECT 'secrets'::regclass",
        "SELECT CAST('secrets' AS pg_catalog.regclass)",
        "SELECT to_regclass('secrets')",
        "SELECT (0.01::float8).pg_sleep",
        "SELECT ('secrets'::text).to_regclass",
        "SELECT g.regclass FROM generate_series(16384, 16420) g",
        "SELECT (('SELECT array_to_tsvector(array_agg(rolname::text)) FROM "
        "pg_roles'::text).ts_stat)"
        ".word",
        "SELECT z.ts_stat FROM (SELECT 1 AS ts_stat) x, unnest(ARRAY['SELECT 1']) z",
        "SELECT o.pg_column_size FROM orders o",
        "SELECT coalesce($1, pg_typeof(1))",
        "SELECT secret FROM customers a, customers b",
        "SELECT secret + 1 FROM customers",
        "SELECT secret, count(*) FROM customers",
        "SELECT * FROM customers UNION SELECT 1",
        "SELECT 1 FROM customers c(a, b, c, d, e, f)",
        "SELECT NULL::secrets",
        "SELECT json_populate_record(NULL::secrets, '{}')",
        "SELECT query_to_xml('SELECT * FROM secrets', true, false, '')",
        "SELECT table_to_xml('secrets', true, false, '')",
        "SELECT * FROM ts_stat('SELECT to_tsvector(secret) FROM secrets')",
        "SELECT * FROM ROWS FROM (pg_ls_dir('/'))",
        "SELECT pg_read_file('/etc/passwd')",
        "SELECT lo_import('/etc/passwd')",
        "SELECT set_config('statement_timeout', '0', false)",
        "SELECT set_config('transaction_read_only', 'off', false)",
        "SELECT current_setting('data_directory')",
        "SELECT pg_sleep(10)",
        "SELECT pg_terminate_backend(1)",
        "SELECT pg_advisory_lock(1)",
        "SELECT nextval('x')",
        "SELECT version()",
        "SELECT * FROM dblink('', 'SELECT 1') AS t(x int)",
        "SELECT 1 OPERATOR(public.+) 1",
        "INSERT INTO orders VALUES (99, 1)",
        "UPDATE orders SET total = 0",
        "DELETE FROM orders",
        "WITH d AS (DELETE FROM orders RETURNING *) SELECT * FROM d",
        "MERGE INTO orders USING customers c ON false WHEN NOT MATCHED THEN INSERT VALUES (9, 9)",
        "SELECT * INTO stolen FROM orders",
        "CREATE TABLE stolen AS SELECT 1",
        "SELECT * FROM orders FOR UPDATE",
        "SELECT * FROM orders FOR SHARE",
        "COPY orders TO PROGRAM 'cat'",
        "COPY (SELECT 1) TO STDOUT",
        "DO $$ BEGIN PERFORM 1; END $$",
        "EXPLAIN ANALYZE SELECT * FROM orders",
        "PREPARE p AS SELECT 1",
        "SET ROLE postgres",
        "RESET ROLE",
        "SET SESSION AUTHORIZATION DEFAULT",
        "SHOW data_directory",
        "LISTEN x",
        "DECLARE c CURSOR FOR SELECT 1",
        "COMMIT",
        "ROLLBACK",
        "BEGIN",
        "SELECT 1; SELECT 2",
        "COMMIT; DELETE FROM orders",
        "SELECT 1; COMMIT; BEGIN READ WRITE; DELETE FROM orders; COMMIT",
        "LOCK TABLE orders",
        "VACUUM",
        " ",
        "SELEKT 1"}) {
    const std::string said = json::serialize(call({{"query", query}}));
    EXPECT_THAT(said, HasSubstr(R"("status":"error")")) << query;
    EXPECT_THAT(said, Not(HasSubstr("MARKER"))) << query;
    EXPECT_THAT(said, HasSubstr("hint: ")) << query;
  }
  EXPECT_EQ(server_.psql("SELECT count(*), sum(total) FROM orders").out, "20|315.0\n");
  // The twin: the superuser reads it all.
  EXPECT_THAT(server_.psql("SELECT secret FROM secrets").out, HasSubstr("MARKER-3"));

  // What is not allowed and what is not there say the same.
  const auto refusal = [&](const std::string& query) {
    return text(call({{"query", query}}), "error");
  };
  for (const std::string query :
       {"SELECT secret FROM customers", "SELECT secret FROM customers a, customers b",
        "SELECT secret + 1 FROM customers", "SELECT secret, count(*) FROM customers",
        "SELECT secret FROM customers UNION SELECT 1"}) {
    std::string absent = query;
    absent.replace(absent.find("secret"), 6, "nothing");
    EXPECT_EQ(refusal(query), refusal(absent)) << query;
  }
  EXPECT_EQ(refusal("SELECT g.secrets FROM generate_series(1, 2) g"),
            refusal("SELECT g.absent FROM generate_series(1, 2) g"));
  std::string forbidden = refusal("SELECT * FROM secrets"),
              absent = refusal("SELECT * FROM absent");
  forbidden.replace(forbidden.find("secrets"), 7, "absent");
  EXPECT_EQ(forbidden, absent);
}

// The role by itself, with no screen before it.
TEST_P(Postgres, TheServerHoldsTheRoleWithoutTheScreen) {
  prepared();
  const std::string secret = read_file(directory_ / "state/sql-key");
  const auto address = PostgresAddress::parse(server_.socket_address());
  ASSERT_TRUE(address);
  const std::string role = postgres_role(*address, "query", "");
  const auto answer = [&](const std::string& statement) -> std::string {
    auto socket = connect_postgres(*address, kPatience);
    if (!socket) return socket.error().message;
    auto connection = PgConnection::open(
        std::move(*socket),
        {.user = role, .database = "shop", .password = postgres_password(secret, *address, role)});
    if (!connection) return connection.error().message;
    // A role may set what it likes for itself; the rights stay.
    EXPECT_TRUE(connection->query("SET default_transaction_read_only TO off"));
    EXPECT_TRUE(connection->query("SET search_path TO public"));
    const auto rows = connection->query(statement);
    if (!rows) return rows.error().state + " " + rows.error().message;
    return rows->rows.empty() ? "done" : rows->rows[0][0].value_or("null");
  };
  EXPECT_EQ(answer("SELECT id FROM orders ORDER BY id"), "1");
  for (const char* statement :
       {"SELECT * FROM secrets", "SELECT secret FROM customers", "SELECT * FROM customers",
        "SELECT query_to_xml('SELECT * FROM secrets', true, false, '')",
        "SELECT pg_read_file('/etc/passwd')", "SELECT lo_import('/etc/passwd')",
        "INSERT INTO orders VALUES (99, 1)", "UPDATE orders SET total = 0", "DELETE FROM orders",
        "SELECT * FROM orders FOR UPDATE", "COPY orders TO PROGRAM 'cat'", "SET ROLE postgres",
        "CREATE TABLE public.x(i int)", "CREATE SCHEMA x", "ALTER ROLE postgres PASSWORD 'x'",
        "SET SESSION AUTHORIZATION postgres"})
    EXPECT_THAT(answer(statement), testing::StartsWith("42501")) << statement;
  EXPECT_EQ(server_.psql("SELECT count(*) FROM orders").out, "20\n");
}

TEST_P(Postgres, ARoleOfThePolicyNarrowsTheTables) {
  prepared();
  EXPECT_EQ(rows("SELECT id, total FROM orders WHERE id = 2", "helpdesk"), R"([[2,"3.0"]])");
  for (const char* query : {"SELECT note FROM orders", "SELECT region FROM customers",
                            "SELECT * FROM sales.leads", "SELECT * FROM orders"}) {
    EXPECT_THAT(rows(query, "helpdesk"), AllOf(HasSubstr("error"), HasSubstr("roles.support")))
        << query;
    if (std::string_view(query) != "SELECT * FROM orders")
      EXPECT_THAT(rows(query), HasSubstr("[[")) << query;
  }
}

TEST_P(Postgres, ARoleThatCanDoMoreThanThePolicyIsRefused) {
  prepared();
  const struct {
    const char *grant, *revoke, *said;
  } kCases[] = {
      {"GRANT SELECT ON secrets TO sallyport_query",
       "REVOKE SELECT ON secrets FROM sallyport_query", "public.secrets.secret"},
      {"GRANT SELECT ON secrets TO PUBLIC", "REVOKE SELECT ON secrets FROM PUBLIC",
       "public.secrets.secret"},
      {"GRANT SELECT (secret) ON customers TO sallyport_query",
       "REVOKE SELECT (secret) ON customers FROM sallyport_query", "customers.secret"},
      {"GRANT INSERT ON orders TO PUBLIC", "REVOKE INSERT ON orders FROM PUBLIC",
       "may change public.orders"},
      {"GRANT UPDATE (note) ON orders TO sallyport_query",
       "REVOKE UPDATE (note) ON orders FROM sallyport_query", "may change public.orders"},
      {"GRANT CREATE ON SCHEMA public TO PUBLIC", "REVOKE CREATE ON SCHEMA public FROM PUBLIC",
       "may make things"},
      {"GRANT pg_read_all_data TO sallyport_query", "REVOKE pg_read_all_data FROM sallyport_query",
       "member of pg_read_all_data"},
      {"ALTER ROLE sallyport_query BYPASSRLS", "ALTER ROLE sallyport_query NOBYPASSRLS",
       "BYPASSRLS"},
      {"CREATE FUNCTION leak() RETURNS text LANGUAGE sql SECURITY DEFINER AS 'SELECT secret FROM "
       "secrets'",
       "DROP FUNCTION leak", "with the rights of postgres"},
      {"CREATE SCHEMA closed; CREATE FUNCTION closed.leak(int, int) RETURNS text LANGUAGE sql "
       "SECURITY "
       "DEFINER AS 'SELECT secret FROM public.secrets'; CREATE OPERATOR public.### (LEFTARG = int, "
       "RIGHTARG = int, FUNCTION = closed.leak)",
       "DROP SCHEMA closed CASCADE", "with the rights of postgres"},
      {"CREATE SEQUENCE counter; GRANT SELECT ON counter TO PUBLIC", "DROP SEQUENCE counter",
       "may change public.counter"},
  };
  for (const auto& [grant, revoke, said] : kCases) {
    server_.does(grant);
    EXPECT_THAT(rows("SELECT 1"), AllOf(HasSubstr("not held to the policy"), HasSubstr(said)))
        << grant;
    const Ran checked = sql("check");
    EXPECT_EQ(checked.exit_code, 1) << grant;
    EXPECT_THAT(checked.err, HasSubstr(said)) << grant;
    server_.does(revoke);
    EXPECT_EQ(rows("SELECT 1"), "[[1]]") << revoke;
  }
  // A policy that allows less than the role was made for.
  write_policy("{ orders: [id] }");
  EXPECT_THAT(rows("SELECT id FROM orders"), HasSubstr("not held to the policy"));
  EXPECT_EQ(sql("prepare").exit_code, 0);
  EXPECT_EQ(rows("SELECT id FROM orders WHERE id = 1"), "[[1]]");
  EXPECT_THAT(rows("SELECT total FROM orders"), HasSubstr("may not read"));
}

// Who may create in a schema can put an operator there that fits better than the server's own.
TEST_P(Postgres, NobodyElsesOperatorsAreFoundByWhatIsAskedForTheCheck) {
  server_.does(R"(
    CREATE FUNCTION public.trap(name, name) RETURNS bool LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'TRAP %', current_user; END $$;
    CREATE OPERATOR public.!~~ (LEFTARG = name, RIGHTARG = name, FUNCTION = public.trap);
    CREATE OPERATOR public.<> (LEFTARG = name, RIGHTARG = name, FUNCTION = public.trap);
  )");
  prepared();
  EXPECT_EQ(rows("SELECT 1"), "[[1]]");
  // The twin: with the search path that a session has by itself, it is found.
  EXPECT_THAT(server_.psql("SELECT nspname FROM pg_namespace WHERE nspname NOT LIKE 'x'::name").err,
              HasSubstr("TRAP postgres"));
  server_.does("GRANT SELECT ON secrets TO PUBLIC");
  EXPECT_EQ(sql("check").exit_code, 1);
  EXPECT_THAT(rows("SELECT 1"), HasSubstr("public.secrets.secret"));
}

TEST_P(Postgres, PrepareMakesAllOfARoleOrNothing) {
  // What everybody may do cannot be taken away from one.
  server_.does("GRANT SELECT ON secrets TO PUBLIC");
  const Ran open = sql("prepare");
  EXPECT_EQ(open.exit_code, 1);
  EXPECT_THAT(open.err, AllOf(HasSubstr("public.secrets.secret"), HasSubstr("FROM PUBLIC")));
  EXPECT_EQ(server_.psql("SELECT count(*) FROM pg_roles WHERE rolname LIKE 'sallyport%'").out,
            "0\n");
  server_.does("REVOKE SELECT ON secrets FROM PUBLIC");

  // Somebody else's role is not touched.
  server_.does("CREATE ROLE sallyport_query LOGIN PASSWORD 'theirs'");
  const Ran theirs = sql("prepare");
  EXPECT_EQ(theirs.exit_code, 125);
  EXPECT_THAT(theirs.err, HasSubstr("not made by this command"));
  server_.does("DROP ROLE sallyport_query");

  write_policy("{ orders: all, \"*\": all, absent: all }");
  const Ran all = sql("prepare");
  EXPECT_EQ(all.exit_code, 0) << all.err;
  EXPECT_THAT(all.out, AllOf(HasSubstr("public.secrets (secret)"), Not(HasSubstr("sales"))));
  EXPECT_THAT(all.err, HasSubstr("'absent'"));
  // The password is nowhere in clear.
  EXPECT_THAT(
      server_.psql("SELECT rolpassword FROM pg_authid WHERE rolname = 'sallyport_query'").out,
      testing::StartsWith("SCRAM-SHA-256$"));
  // Columns that differ in capital letters only cannot be told apart.
  server_.does("CREATE TABLE twins(id int, \"ID\" text)");
  write_policy("{ twins: [id] }");
  EXPECT_THAT(sql("prepare").err, HasSubstr("capital letters"));
  write_policy("{ orders: all }");
  EXPECT_EQ(sql("prepare").exit_code, 0);
  EXPECT_EQ(sql("prepare", {"absent"}).exit_code, 2);
  EXPECT_EQ(sql("prepare", {"--admin", "nobody_there"}).exit_code, 125);
}

// As Debian sets it up: the administrator by the socket, everybody else by loopback.
TEST_P(Postgres, IsAskedByLoopbackAndPreparedByTheSocket) {
  write_policy("[orders]", "postgres://localhost:" + std::to_string(server_.port()) + "/shop");
  own_the_state();
  EXPECT_EQ(sql("prepare").exit_code, 125) << "without a password";
  const Ran other = sql("prepare", {"--via", "postgres:///another"});
  EXPECT_EQ(other.exit_code, 2) << other.err;
  const Ran ran = sql("prepare", {"--via", server_.socket_address()});
  EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
  EXPECT_EQ(rows("SELECT max(id) FROM orders"), "[[20]]");
  // A server that lets anybody in may be another one.
  write_file(server_.data() + "/pg_hba.conf",
             "local all all peer\nhost all all 127.0.0.1/32 trust\n");
  server_.does("SELECT pg_reload_conf()");
  EXPECT_TRUE(eventually(
      [&] { return rows("SELECT 1").find("without its password") != std::string::npos; }));
}

TEST_P(Postgres, EndsWhatTakesTooLongAndLeavesNobodyBehind) {
  prepared();
  for (const char* query :
       {"SELECT count(*) FROM generate_series(1, 1000000000000)",
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r",
        "SELECT count(*) FROM orders a, orders b, orders c, orders d, orders e, orders f, orders "
        "g, "
        "orders h"}) {
    const auto result = call({{"query", query}});
    EXPECT_THAT(json::serialize(result), HasSubstr("was ended after")) << query;
  }
  EXPECT_THAT(json::serialize(call({{"query", "SELECT repeat('x', 100000000)"}})),
              HasSubstr("larger"));
  EXPECT_TRUE(eventually([&] {
    return server_.psql("SELECT count(*) FROM pg_stat_activity WHERE usename LIKE 'sallyport%'")
               .out == "0\n";
  }));
}

SALLYPORT_FOR_ROOT_AND_USER(Postgres);

// ---- Over TLS, and through the service

class PostgresOverTls : public testing::Test {
 protected:
  PostgresOverTls() {
    // An authority, and a certificate of the server for db.example.
    const Ran made = run(
        {"bash", "-euc",
         "cd \"$1\"; openssl req -x509 -newkey rsa:2048 -nodes -days 30 -keyout ca.key -out ca.pem "
         "-subj /CN=authority; openssl req -newkey rsa:2048 -nodes -keyout server.key -out "
         "server.csr -subj /CN=db.example; printf 'subjectAltName=DNS:db.example' > names; openssl "
         "x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 30 -extfile "
         "names "
         "-out server.pem; openssl req -x509 -newkey rsa:2048 -nodes -days 30 -keyout other.key "
         "-out other.pem -subj /CN=other; cp server.key server.pem \"$2\"; chown postgres "
         "\"$2\"/server.*; chmod 600 \"$2\"/server.key; chmod 644 *.pem",
         "make", keys_.path(), server_.data()});
    EXPECT_EQ(made.exit_code, 0) << made.err;
    EXPECT_EQ(::chmod(keys_.path().c_str(), 0755), 0);
    server_.begin();
    server_.does("CREATE DATABASE shop", "postgres");
    server_.does(kShop);
    server_.does("ALTER ROLE postgres PASSWORD 'of-the-administrator'");
  }

  [[nodiscard]] std::string policy(const std::string& host, const std::string& options) const {
    return "version: 1\n"
           "roles: { worker: [work] }\n"
           "callers: { agent: { role: worker } }\n"
           "tools:\n"
           "  query:\n"
           "    use: sql\n"
           "    needs: [work]\n"
           "    database: postgres://" +
           host + ":" + std::to_string(server_.port()) + "/shop?hostaddr=127.0.0.1" + options +
           "\n    tables: { orders: [id] }\n";
  }
  Ran prepare(const std::string& policy_text) {
    write_file(directory_ / "policy.yaml", policy_text);
    return run({sallyport_path(), "sql", "prepare", "--policy", directory_ / "policy.yaml",
                "--state", directory_ / "state"},
               {.environment = {"PGPASSWORD=of-the-administrator"}});
  }

  PostgresServer server_{
      {"-c", "ssl=on", "-c", "ssl_cert_file=server.pem", "-c", "ssl_key_file=server.key"}};
  TempDir keys_, directory_;
};

TEST_F(PostgresOverTls, OnlyTheServerOfThatNameIsSpokenTo) {
  const std::string trusted = "&sslrootcert=" + keys_ / "ca.pem";
  const std::string good = policy("db.example", trusted);
  const Ran made = prepare(good);
  EXPECT_EQ(made.exit_code, 0) << made.err;
  const auto call = [&] {
    return json::serialize(
        run({sallyport_path(), "call", "query", "--policy", directory_ / "policy.yaml", "--as",
             "agent", "--state", directory_ / "state", "--json", "--args",
             R"({"query": "SELECT min(id) FROM orders"})"})
            .json());
  };
  EXPECT_THAT(call(), HasSubstr("[[1]]"));
  EXPECT_EQ(server_.psql("SELECT count(*) FROM pg_roles WHERE rolname = 'sallyport_query'").out,
            "1\n");
  for (const std::string& bad : {policy("other.example", trusted),
                                 policy("db.example", "&sslrootcert=" + keys_ / "other.pem")}) {
    EXPECT_EQ(prepare(bad).exit_code, 125);
    EXPECT_THAT(call(), HasSubstr("does not prove by TLS who it is"));
  }
  // In clear text only when the policy says so.
  EXPECT_EQ(prepare(policy("db.example", "&sslmode=disable")).exit_code, 0);
  EXPECT_THAT(call(), HasSubstr("[[1]]"));
}

TEST_F(PostgresOverTls, TheServiceAsksItThroughItsLauncher) {
  const std::string trusted = "&sslrootcert=" + keys_ / "ca.pem";
  LiveService service(policy("db.example", trusted));
  const std::string key = service.key("agent");
  EXPECT_THAT(service.call("query", R"({"query": "SELECT 1"})", key).body,
              HasSubstr("sallyport sql prepare"));
  const Ran made = run({sallyport_path(), "sql", "prepare", "--policy", service.policy_file(),
                        "--state", service.state()},
                       {.environment = {"PGPASSWORD=of-the-administrator"}});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  const Reply reply = service.call("query", R"({"query": "SELECT max(id) FROM orders"})", key);
  EXPECT_EQ(reply.status, 200) << reply.body;
  EXPECT_THAT(reply.body, HasSubstr("[[20]]"));
  EXPECT_THAT(service.call("query", R"({"query": "SELECT secret FROM secrets"})", key).body,
              AllOf(HasSubstr("no table"), Not(HasSubstr("MARKER"))));
}

}  // namespace
}  // namespace sallyport::test
