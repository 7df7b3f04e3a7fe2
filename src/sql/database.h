// A SQLite database, opened so that a query can reach what the order allows and nothing else.
//
// The connection is to an empty database in memory. The file is attached read-only under a random
// name, and for each allowed table there is a temporary view of the same name with the allowed
// columns. A name in a query means that view; every other table of the file is hidden behind a view
// of its name that cannot be opened, so that it answers as a table that does not exist. Beside
// that: defensive mode, an untrusted schema, no extensions, no double-quoted strings, limits on
// everything, and a guard that is asked about every read (guard.h).
#pragma once

#include <sqlite3.h>

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "sql/allowed_tables.h"
#include "sql/database_file.h"
#include "sql/guard.h"
#include "sql/order.h"

namespace sallyport {

class SqlDatabase {
 public:
  // Reads the schema, makes the views, and locks the connection down.
  [[nodiscard]] static Result<SqlDatabase> open(const SqlOrder& order);

  [[nodiscard]] sqlite3* handle() const { return handle_.get(); }
  [[nodiscard]] const std::vector<SqlTable>& tables() const { return tables_; }
  // What the order lists and the database does not have.
  [[nodiscard]] const std::vector<std::string>& missing() const { return missing_; }
  [[nodiscard]] SqlGuard& guard() const { return *guard_; }
  [[nodiscard]] const DatabaseFile& file() const { return file_; }

  // SQLite's own message, without the secret name.
  [[nodiscard]] std::string message() const;
  // What went wrong, when it is the database's or a limit's doing and not the query's.
  [[nodiscard]] std::optional<Error> engine_error() const;

  // The clock of the order runs from open(); past it, SQLite is interrupted.
  [[nodiscard]] bool is_late() const;

 private:
  struct Close {
    void operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
  };
  struct Deadline {
    std::int64_t ns = 0;
    std::uint64_t milliseconds = 0;
  };

  explicit SqlDatabase(DatabaseFile file);
  Result<void> run(const std::string& statement);
  Result<void> configure(const SqlOrder& order);
  Result<void> find_tables(const SqlOrder& order);
  Result<std::vector<SqlColumn>> columns_of(const std::string& table);
  Result<void> make_views();
  Result<void> lock_down();

  DatabaseFile file_;
  std::string schema_;
  std::unique_ptr<SqlGuard> guard_;     // SQLite keeps its address
  std::unique_ptr<Deadline> deadline_;  // and this one's
  std::vector<SqlTable> tables_;
  std::vector<std::string> virtual_;  // names of those tables that are virtual
  std::vector<std::string> hidden_;   // all other tables of the file
  std::vector<std::string> missing_;
  std::unique_ptr<sqlite3, Close> handle_;
};

}  // namespace sallyport
