// What of a database may be read, as a query sees it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sallyport {

struct SqlColumn {
  std::string name;
  std::string type;  // as it was declared; may be empty
  bool required = false;
  bool key = false;  // of the primary key
};

struct SqlTable {
  std::string name;
  bool view = false;
  std::vector<SqlColumn> columns;  // those that may be read
};

// A name as SQLite compares it: A–Z are a–z, everything else is itself.
[[nodiscard]] std::string folded(std::string_view name);

// An identifier within a statement, whatever it holds.
[[nodiscard]] std::string sql_name(std::string_view name);

// "orders (id, total), products (id)": for messages, and so never longer than a model wants to
// read.
[[nodiscard]] std::string describe(const std::vector<SqlTable>& tables);

}  // namespace sallyport
