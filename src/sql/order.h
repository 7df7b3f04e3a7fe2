// What the sql tool is told to do. The boundary writes the order, and our own program, inside the
// cell, reads it from standard input: see work.h.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace sallyport {

// Where a cell shows the database; its journals lie beside it, as SQLite wants them.
inline constexpr std::string_view kDatabaseInside = "/run/sallyport/database";
inline constexpr std::string_view kDatabaseBeside[] = {"-wal", "-shm", "-journal"};

enum class SqlAction { query, list_tables, describe_table };
enum class SqlFormat { rows, objects, csv };

// How the role of a tool logs in at a PostgreSQL server. The connection is there already.
struct SqlServer {
  std::string role, password, database;
  bool tls = false;
  std::string host, certificates;  // for TLS: who it is, and who may vouch for that (PEM)
};

struct SqlOrder {
  SqlAction action = SqlAction::query;
  SqlFormat format = SqlFormat::rows;
  std::string database = std::string(kDatabaseInside);
  std::optional<SqlServer> server;     // instead of a database file
  std::string query;                   // query: the statement
  json::value params = json::array();  // query: by position, or an object by name
  std::string table;                   // describe_table: which
  bool all_tables = false;             // every table, beside those that are listed
  std::map<std::string, std::vector<std::string>> tables;  // no columns listed: all of them
  std::string rule = "tables";                             // what of the policy says so
  std::uint64_t rows = 1000;                               // how many come back at most
  std::uint64_t max_answer = 50'000;                       // bytes of the answer as JSON
  std::uint64_t milliseconds = 10'000;
  std::uint64_t memory = std::uint64_t{64} << 20;  // bytes that the engine may take
};

[[nodiscard]] std::optional<SqlAction> sql_action(std::string_view name);
[[nodiscard]] std::optional<SqlFormat> sql_format(std::string_view name);

[[nodiscard]] std::string to_text(const SqlOrder& order);
[[nodiscard]] Result<SqlOrder> parse_sql_order(std::string_view text);

}  // namespace sallyport
