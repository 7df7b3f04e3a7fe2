#include "sql/work.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>

#include "sql/sql_fixture.h"

namespace sallyport {
namespace {

using testing::AllOf;
using testing::HasSubstr;

using SqlWork = SqlTest;

TEST_F(SqlWork, AnswersWithTypedRows) {
  const auto answer = ask("SELECT id, total, note FROM orders ORDER BY id");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(canonical_json(*answer),
            R"({"columns":[{"declared":"INTEGER","name":"id","type":"integer"},)"
            R"({"declared":"REAL","name":"total","type":"real"},)"
            R"({"declared":"TEXT","name":"note","type":"text"}],"row_count":3,)"
            R"("rows":[[1,9.5,"first"],[2,20.0,null],[3,0.5,"x"]],"truncated":false})");
}

TEST_F(SqlWork, AllowsWhatQueriesAreMadeOf) {
  EXPECT_EQ(rows("SELECT * FROM customers"), R"([[1,"north"],[2,"south"]])");
  EXPECT_EQ(rows("SELECT count(*) FROM customers"), "[[2]]");
  EXPECT_EQ(
      rows("SELECT region, sum(total) FROM orders JOIN customers c ON c.id = customer GROUP BY "
           "region ORDER BY 1"),
      R"([["north",29.5],["south",0.5]])");
  EXPECT_EQ(rows("WITH big AS (SELECT * FROM orders WHERE total > 5) SELECT count(*) FROM big"),
            "[[2]]");
  EXPECT_EQ(rows("WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM r WHERE n<3) SELECT n "
                 "FROM r"),
            "[[1],[2],[3]]");
  EXPECT_EQ(rows("SELECT id, row_number() OVER (ORDER BY total DESC) FROM orders ORDER BY id"),
            "[[1,2],[2,1],[3,3]]");
  EXPECT_EQ(rows("SELECT id FROM orders NATURAL JOIN customers ORDER BY id"), "[[1],[2]]");
  EXPECT_EQ(rows("SELECT a.id FROM orders a JOIN customers b USING (id) ORDER BY 1"), "[[1],[2]]");
  EXPECT_EQ(rows("SELECT value FROM json_each('[1,2]')"), "[[1],[2]]");
  EXPECT_EQ(
      rows("SELECT key FROM orders, json_tree('{\"a\":1}') WHERE orders.id = 1 AND key = 'a'"),
      R"([["a"]])");
  EXPECT_EQ(rows("VALUES (1, 'a'), (2, 'b')"), R"([[1,"a"],[2,"b"]])");
  EXPECT_EQ(rows("  -- first\n /* then */ SELECT 1 ; -- done\n ; /* really */"), "[[1]]");
  EXPECT_EQ(rows("SELECT note FROM orders WHERE note LIKE 'f%' AND note GLOB 'f*'"),
            R"([["first"]])");
  EXPECT_EQ(
      rows("SELECT strftime('%Y', '2024-02-03'), upper('a'), round(2.5), '{\"a\":1}' ->> 'a'"),
      R"([["2024","A",3.0,1]])");
}

TEST_F(SqlWork, ReadsThroughAViewThatIsListed) {
  EXPECT_EQ(rows("SELECT * FROM regions ORDER BY region"), R"([["north",1],["south",1]])");
  EXPECT_EQ(rows("SELECT count(*) FROM regions"), "[[2]]");
  // It reads a view that is not listed, and that is its own business.
  EXPECT_EQ(rows("SELECT id FROM through_leak WHERE size > 1 ORDER BY id"), "[[1],[2]]");
  EXPECT_EQ(rows("WITH x AS (SELECT * FROM through_leak) SELECT count(*) FROM x"), "[[2]]");
  order_.tables["through_leak"] = {"id"};
  EXPECT_THAT(refusal("SELECT size FROM through_leak"), HasSubstr("no column 'size'"));
}

TEST_F(SqlWork, SaysWhatWasRefusedAndWhatIsAllowed) {
  EXPECT_THAT(
      refusal("SELECT * FROM secrets"),
      AllOf(HasSubstr("there is no table 'secrets' that this tool may read"),
            HasSubstr("tools.query.tables allows to read: customers (id, region), orders (id, "
                      "customer, total, note), regions (region, number)")));
  EXPECT_THAT(
      refusal("SELECT c.secret FROM customers c"),
      AllOf(HasSubstr("there is no column 'c.secret'"), HasSubstr("customers (id, region)")));
  EXPECT_THAT(refusal("DELETE FROM orders"), HasSubstr("queries only, and no 'delete'"));
  EXPECT_THAT(refusal("SELECT load_extension('x')"), HasSubstr("the function 'load_extension'"));
  EXPECT_THAT(refusal("SELECT frobnicate(1)"), HasSubstr("the function 'frobnicate'"));
  EXPECT_THAT(refusal("SELECT 1; SELECT 2"), HasSubstr("more than one statement"));
  EXPECT_THAT(refusal("SELECT FROM"), HasSubstr("syntax error"));
  EXPECT_THAT(refusal("SELECT * FROM main.orders"), HasSubstr("without a schema"));
}

TEST_F(SqlWork, BindsParameters) {
  EXPECT_EQ(rows("SELECT id FROM orders WHERE note = ? AND total > ?", {"first", 1}), "[[1]]");
  EXPECT_EQ(rows("SELECT id FROM orders WHERE note = :note", json::object{{"note", "x"}}), "[[3]]");
  EXPECT_EQ(rows("SELECT :a, @b, $c", json::object{{"a", 1}, {"b", true}, {"c", nullptr}}),
            "[[1,1,null]]");
  EXPECT_EQ(rows("SELECT ?2, ?1", {1.5, "' OR 1=1 --"}), R"([["' OR 1=1 --",1.5]])");
  EXPECT_EQ(rows("SELECT typeof(?), length(?)", {json::string("a\0b", 3), "日本"}),
            R"([["text",2]])");
  EXPECT_THAT(rows("SELECT ?", json::array{}), HasSubstr("1 parameters, and 0 were given"));
  EXPECT_THAT(rows("SELECT 1", {1}), HasSubstr("0 parameters, and 1"));
  EXPECT_THAT(rows("SELECT :a", json::object{}), HasSubstr("':a' has no value"));
  EXPECT_THAT(rows("SELECT :a", json::object{{"a", 1}, {"b", 2}}), HasSubstr("no parameter 'b'"));
  EXPECT_THAT(rows("SELECT ?", json::object{{"a", 1}}), HasSubstr("has a ?"));
  EXPECT_THAT(rows("SELECT ?", {json::array{1}}), HasSubstr("cannot be a value"));
  EXPECT_THAT(rows("SELECT 1", "text"), HasSubstr("neither a list nor an object"));
}

TEST_F(SqlWork, StopsAtItsRowsAndItsBytes) {
  order_.rows = 2;
  auto answer = ask("SELECT id FROM orders ORDER BY id");
  EXPECT_EQ(canonical_json(answer->at("rows")), "[[1],[2]]");
  EXPECT_TRUE(answer->at("truncated").as_bool());
  order_.rows = 3;
  EXPECT_FALSE(ask("SELECT id FROM orders")->at("truncated").as_bool());

  order_.rows = 1'000'000;
  const std::string many =
      "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM r WHERE n<100000) SELECT n, "
      "'\"quoted\"\n' AS t FROM r";
  for (const SqlFormat format : {SqlFormat::rows, SqlFormat::objects, SqlFormat::csv}) {
    order_.format = format;
    for (const std::uint64_t most : {400, 1000, 10'000}) {
      order_.max_answer = most;
      answer = ask(many);
      ASSERT_TRUE(answer) << answer.error().message;
      EXPECT_LE(canonical_json(*answer).size(), most);
      EXPECT_GT(canonical_json(*answer).size(), most / 4) << "there was room for more";
      EXPECT_TRUE(answer->at("truncated").as_bool());
    }
    order_.max_answer = 100;
    EXPECT_EQ(ask(many).error().reason, Reason::result_too_large);
  }
  order_.max_answer = 5000;
  EXPECT_THAT(refusal("SELECT printf('%.*c', 6000, 'x')"), HasSubstr("the first row alone"));
}

TEST_F(SqlWork, SaysEveryValueInJson) {
  EXPECT_EQ(
      rows("SELECT x'00ff', 9007199254740991, 9007199254740992, -9223372036854775807 - 1, 9e999, "
           "-9e999, NULL, 1.0, '', cast(x'ff41' AS TEXT), char(0)"),
      R"([[{"base64":"AP8="},9007199254740991,"9007199254740992","-9223372036854775808",)"
      R"("Infinity","-Infinity",null,1.0,"",")"
      "\xef\xbf\xbd"
      R"(A","\u0000"]])");
  const auto answer = ask("SELECT 1 AS a UNION ALL SELECT 'x' UNION ALL SELECT NULL");
  EXPECT_EQ(answer->at("columns").at(0).at("type"), "mixed");
}

TEST_F(SqlWork, WritesCsvThatReadsBack) {
  order_.format = SqlFormat::csv;
  const auto answer =
      ask("SELECT 1 AS \"a,b\", 'x' AS x, 'say \"hi\"' AS y, 'a\r\nb' AS z, NULL AS n, '' AS e, "
          "' s' AS s, x'00' AS b");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->at("csv").as_string(),
            "\"a,b\",x,y,z,n,e,s,b\r\n"
            "1,x,\"say \"\"hi\"\"\",\"a\r\nb\",,\"\",\" s\",AA==\r\n");
}

TEST_F(SqlWork, GivesObjectsADifferentKeyForEachColumn) {
  order_.format = SqlFormat::objects;
  const auto answer = ask("SELECT 1 AS a, 2 AS a, 3 AS a_2");
  EXPECT_EQ(canonical_json(answer->at("objects")), R"([{"a":1,"a_2":2,"a_2_2":3}])");
}

TEST_F(SqlWork, ListsAndDescribesWhatMayBeRead) {
  order_.action = SqlAction::list_tables;
  order_.tables["gone"] = {};
  order_.tables["customers"].emplace_back("absent");
  auto answer = do_sql_work(order_);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(canonical_json(*answer),
            R"({"missing":["customers.absent","gone"],"tables":[)"
            R"({"columns":["id","region"],"kind":"table","name":"customers"},)"
            R"({"columns":["id","customer","total","note"],"kind":"table","name":"orders"},)"
            R"({"columns":["region","number"],"kind":"view","name":"regions"},)"
            R"({"columns":["id","size"],"kind":"view","name":"through_leak"}],"truncated":false})");
  order_.max_answer = 250;
  answer = do_sql_work(order_);
  EXPECT_TRUE(answer->at("truncated").as_bool());
  EXPECT_LE(canonical_json(*answer).size(), 250U);

  order_.max_answer = 50'000;
  order_.action = SqlAction::describe_table;
  order_.table = "CUSTOMERS";
  EXPECT_EQ(canonical_json(*do_sql_work(order_)),
            R"({"columns":[{"key":true,"name":"id","required":false,"type":"INTEGER"},)"
            R"({"key":false,"name":"region","required":false,"type":"TEXT"}],)"
            R"("kind":"table","table":"customers"})");
  for (const char* hidden : {"secrets", "leak", "sqlite_master", "nowhere", ""}) {
    order_.table = hidden;
    EXPECT_THAT(do_sql_work(order_).error().message, HasSubstr("there is no table")) << hidden;
  }
}

TEST_F(SqlWork, SearchesFullTextTablesThatAreListed) {
  write(
      "CREATE VIRTUAL TABLE docs USING fts5(title, body); INSERT INTO docs VALUES ('one', 'red "
      "fish'), "
      "('two', 'blue bird');");
  refusal("SELECT * FROM docs");
  order_.tables["docs"] = {};
  EXPECT_EQ(rows("SELECT title FROM docs WHERE body MATCH 'fish'"), R"([["one"]])");
  refusal("SELECT * FROM docs_content");
  order_.all_tables = true;
  refusal("SELECT * FROM docs_content");
}

// ---- The file

// Another process, as the owner of a live database is one: SQLite's locks are per process.
class Owner {
 public:
  Owner(const std::string& path, const std::string& sql) {
    int ready[2], end[2];
    EXPECT_EQ(::pipe(ready), 0);
    EXPECT_EQ(::pipe(end), 0);
    child_ = ::fork();
    if (child_ == 0) {
      sqlite3* owner = nullptr;
      sqlite3_open(path.c_str(), &owner);
      sqlite3_exec(owner, sql.c_str(), nullptr, nullptr, nullptr);
      (void)!::write(ready[1], "r", 1);
      char byte;
      ::close(end[1]);
      (void)!::read(end[0], &byte, 1);
      ::_exit(0);  // without closing: as if it were killed
    }
    char byte;
    EXPECT_EQ(::read(ready[0], &byte, 1), 1);
    ::close(ready[0]);
    ::close(ready[1]);
    ::close(end[0]);
    end_ = end[1];
  }
  ~Owner() { kill(); }
  void kill() {
    if (child_ < 0) return;
    ::close(end_);
    ::waitpid(child_, nullptr, 0);
    child_ = -1;
  }

 private:
  pid_t child_ = -1;
  int end_ = -1;
};

TEST_F(SqlWork, SeesWhatALiveWriteAheadLogHolds) {
  write("PRAGMA journal_mode=WAL");
  EXPECT_EQ(rows("SELECT count(*) FROM orders"), "[[3]]") << "nobody has it open";
  Owner owner(path(), "PRAGMA wal_autocheckpoint=0; INSERT INTO orders VALUES (4, 1, 1, 'new')");
  ASSERT_TRUE(std::filesystem::exists(path() + "-wal"));
  EXPECT_EQ(rows("SELECT count(*) FROM orders"), "[[4]]");
  owner.kill();
  EXPECT_EQ(rows("SELECT count(*) FROM orders"), "[[4]]") << "the log was left behind";
  std::filesystem::remove(path() + "-shm");
  EXPECT_THAT(refusal("SELECT count(*) FROM orders"), HasSubstr("write-ahead log"));
  EXPECT_FALSE(std::filesystem::exists(path() + "-shm")) << "a reader made it";
}

TEST_F(SqlWork, WaitsForNobodyForLong) {
  order_.milliseconds = 200;
  Owner owner(path(), "BEGIN EXCLUSIVE; DELETE FROM orders");
  EXPECT_THAT(refusal("SELECT 1 FROM orders"), HasSubstr("is being written"));
}

TEST_F(SqlWork, RefusesHalfATransactionThatSomebodyLeftBehind) {
  {
    Owner owner(
        path(),
        "PRAGMA cache_size=1; PRAGMA cache_spill=1; BEGIN; CREATE TABLE big AS WITH RECURSIVE r(n) "
        "AS (SELECT 1 UNION "
        "ALL SELECT n+1 FROM r WHERE n<20000) SELECT n, 'xxxxxxxxxxxxxxxxxxxxxxxxx' FROM r");
  }
  ASSERT_TRUE(std::filesystem::exists(path() + "-journal"));
  EXPECT_THAT(refusal("SELECT count(*) FROM orders"), HasSubstr("not closed properly"));
  EXPECT_TRUE(std::filesystem::exists(path() + "-journal"));
  write("SELECT count(*) FROM orders");  // its owner brings it in order
  EXPECT_EQ(rows("SELECT count(*) FROM orders"), "[[3]]");
}

TEST_F(SqlWork, RefusesWhatIsNoDatabase) {
  order_.database = directory_ + "/absent";
  EXPECT_THAT(refusal("SELECT 1"), HasSubstr("cannot be opened"));
  EXPECT_FALSE(std::filesystem::exists(order_.database));
  order_.database = directory_;
  EXPECT_THAT(refusal("SELECT 1"), HasSubstr("not a regular file"));
  std::filesystem::create_symlink(path(), directory_ + "/link");
  order_.database = directory_ + "/link";
  EXPECT_THAT(refusal("SELECT 1"), HasSubstr("cannot be opened"));
  order_.database = path();
  std::filesystem::create_hard_link(path(), directory_ + "/other.db");
  EXPECT_THAT(refusal("SELECT 1"), HasSubstr("more than one name"));
  order_.database = directory_ + "/text";
  std::FILE* text = std::fopen(order_.database.c_str(), "w");
  std::fputs(
      "SQLite format 3 it is not, and it is long enough to have a header, too, as one can see "
      "by counting to a hundred",
      text);
  std::fclose(text);
  EXPECT_THAT(refusal("SELECT 1"), HasSubstr("not a SQLite database"));
}

TEST_F(SqlWork, RefusesADamagedDatabaseWithASentence) {
  std::FILE* file = std::fopen(path().c_str(), "r+");
  std::fseek(file, 100, SEEK_SET);
  for (int i = 0; i < 4000; ++i)
    std::fputc(0xA5, file);
  std::fclose(file);
  EXPECT_THAT(refusal("SELECT * FROM orders"), HasSubstr("damaged"));
}

TEST_F(SqlWork, ReadsAPathWithOddCharacters) {
  const std::string odd = directory_ + "/a b?x=1#%41'\";.db";
  std::filesystem::copy_file(path(), odd);
  order_.database = odd;
  EXPECT_EQ(rows("SELECT count(*) FROM orders"), "[[3]]");
}

TEST(SqlOrder, ReadsBackAsItWas) {
  SqlOrder order{.action = SqlAction::describe_table, .format = SqlFormat::csv, .database = "/d"};
  order.query = "SELECT '\n'";
  order.params = json::object{{"a", 1}, {"b", nullptr}};
  order.table = "t";
  order.all_tables = true;
  order.tables = {{"t", {"a", "b"}}, {"u", {}}};
  order.rule = "tools.q.tables";
  order.rows = 7;
  order.max_answer = 8;
  order.milliseconds = 9;
  order.memory = ~std::uint64_t{0};
  const auto read = parse_sql_order(to_text(order));
  ASSERT_TRUE(read) << read.error().message;
  order.memory = INT64_MAX;
  EXPECT_EQ(to_text(*read), to_text(order));
  for (const char* bad :
       {"", "[]", "{}", R"({"tables":[]})", R"({"tables":{},"action":"x","format":"rows"})",
        R"({"tables":{"t":1},"action":"query","format":"rows"})",
        R"({"tables":{"t":[1]},"action":"query","format":"rows"})"})
    EXPECT_FALSE(parse_sql_order(bad)) << bad;
}

}  // namespace
}  // namespace sallyport
