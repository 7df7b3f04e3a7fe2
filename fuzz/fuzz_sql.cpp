// Any text, as a query on a database of which a part may be read: the rest never shows, neither in
// rows nor in an error, and the answer stays within its bounds. Each input is also asked of two
// databases that differ in what is hidden and in nothing else: the answers must be the same.
#include <sqlite3.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "check.h"
#include "sql/work.h"

using namespace sallyport;

static constexpr std::string_view kMarker = "MARKER7f3a";

// The values of the secrets, and the number of rows that a hidden table has.
static std::string make_database(const std::string& secret, int rows) {
  std::string path = "/tmp/fuzz_sql_XXXXXX";
  const int fd = ::mkstemp(path.data());
  FUZZ_CHECK(fd >= 0);
  ::close(fd);
  sqlite3* owner = nullptr;
  FUZZ_CHECK(sqlite3_open(path.c_str(), &owner) == SQLITE_OK);
  std::string sql =
      "CREATE TABLE orders(id INTEGER PRIMARY KEY, total REAL, note TEXT);"
      "INSERT INTO orders VALUES (1, 9.5, 'a'), (2, 20.0, NULL);"
      "CREATE TABLE customers(id INTEGER PRIMARY KEY, region TEXT, secret TEXT);"
      "INSERT INTO customers VALUES (1, 'north', '" +
      secret + "'), (2, 'south', '" + secret +
      "x');"
      "CREATE TABLE secrets(id INTEGER, secret TEXT);"
      "CREATE VIEW leak AS SELECT id, secret FROM customers;"
      "CREATE VIEW regions AS SELECT region, count(secret) AS number FROM leak JOIN customers "
      "USING (id) GROUP BY region;";
  for (int i = 0; i < rows; ++i)
    sql += "INSERT INTO secrets VALUES (" + std::to_string(i) + ", '" + secret + "');";
  FUZZ_CHECK(sqlite3_exec(owner, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(owner);
  return path;
}

static std::string answer_of(const std::string& database, std::string_view query) {
  SqlOrder order;
  order.database = database;
  order.query = query;
  order.tables = {{"orders", {}}, {"customers", {"id", "region"}}, {"regions", {}}};
  order.rule = "tools.query.tables";
  order.rows = 50;
  order.max_answer = 4000;
  order.milliseconds = 100;
  order.format = query.size() % 3 == 0   ? SqlFormat::csv
                 : query.size() % 3 == 1 ? SqlFormat::objects
                                         : SqlFormat::rows;
  const auto answer = do_sql_work(order);
  if (!answer) {
    FUZZ_CHECK(!answer.error().message.empty());
    // Time is no part of the answer.
    return answer.error().reason == Reason::timeout
               ? std::string()
               : answer.error().message + "|" + answer.error().hint;
  }
  const std::string text = canonical_json(*answer);
  FUZZ_CHECK(text.size() <= order.max_answer);
  FUZZ_CHECK(answer->at("row_count").as_int64() <= 50);
  return text;
}

static bool has_chance_or_time(std::string_view query) {
  std::string small(query);
  for (char& c : small)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  for (const char* word : {"random", "now", "current", "date", "time", "julian", "epoch"})
    if (small.contains(word)) return true;
  return false;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::string first = make_database(std::string(kMarker), 3);
  static const std::string second = make_database("0", 0);
  static const bool at_exit = std::atexit([] {
                                ::unlink(first.c_str());
                                ::unlink(second.c_str());
                              }) == 0;
  FUZZ_CHECK(at_exit);
  const std::string_view query(reinterpret_cast<const char*>(data), size);
  if (size > 2000 || query.contains(kMarker)) return 0;
  const std::string said = answer_of(first, query);
  FUZZ_CHECK(!said.contains(kMarker));
  if (said.empty() || has_chance_or_time(query)) return 0;
  const std::string other = answer_of(second, query);
  FUZZ_CHECK(other.empty() || said == other);
  return 0;
}
