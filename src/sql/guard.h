// The last word on every statement: SQLite asks it about each table, column and function while it
// compiles one.
//
// SQLite's question alone would not do. It does not ask at all about the columns of a JOIN … USING
// or a NATURAL JOIN, and it names the view that a read belongs to by a text that a WITH clause can
// forge. So the tables of the file lie in a schema whose name nobody can know (database.h), queries
// reach them through views of ours that hold the allowed columns only, and the guard knows what
// these views read.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "sql/allowed_tables.h"

namespace sallyport {

class SqlGuard {
 public:
  // What was refused first since the last forget().
  struct Refused {
    int action = 0;  // SQLITE_INSERT …
    std::string what;
  };

  // `schema` is the secret name of the file's schema.
  explicit SqlGuard(std::string schema) : schema_(std::move(schema)) {}

  // Compiling one of our own statements: notes what it reads within the schema, and allows it.
  void record() { recording_ = true; }
  // From now on, only what was listed and noted.
  void enforce() { recording_ = false; }

  // A view of ours, with the columns that it has.
  void allow(const SqlTable& table);
  // A virtual table reads tables that begin with its name, by statements of its own.
  void allow_parts_of(std::string_view virtual_table);

  [[nodiscard]] const std::optional<Refused>& refused() const { return refused_; }
  void forget() { refused_.reset(); }

  // The callback for sqlite3_set_authorizer; `guard` is a SqlGuard.
  static int ask(void* guard, int action, const char* first, const char* second, const char* schema,
                 const char* within) noexcept;

 private:
  int decide(int action, std::string_view first, std::string_view second, const char* schema);
  bool may_read(std::string_view table, std::string_view column, const char* schema) const;

  std::string schema_;
  bool recording_ = false;
  std::map<std::string, std::set<std::string>> listed_;  // our views
  std::map<std::string, std::set<std::string>> noted_;   // what they read
  std::set<std::string> prefixes_;                       // of parts of virtual tables
  std::optional<Refused> refused_;
};

}  // namespace sallyport
