// Rows on their way to a model: as many as the answer has room for.
#pragma once

#include <sqlite3.h>

#include <string>
#include <vector>

#include "base/json.h"
#include "sql/order.h"

namespace sallyport {

// A value as JSON. Integers that a double cannot hold exactly and infinities are strings, a blob is
// {"base64": "…"}, text that is not UTF-8 has U+FFFD in it.
[[nodiscard]] json::value value_of(sqlite3_value* value);

// A field of CSV (RFC 4180): in quotes where it has to be. NULL is an empty field, an empty text is
// "". A blob is its base64.
[[nodiscard]] std::string csv_field(sqlite3_value* value);
[[nodiscard]] std::string csv_field(std::string_view text);

class SqlAnswer {
 public:
  // The columns are those of `statement`.
  SqlAnswer(sqlite3_stmt* statement, SqlFormat format, std::uint64_t max_answer);

  // The row that `statement` is at. False: there is no room for it, and none is to follow.
  [[nodiscard]] bool add();
  [[nodiscard]] std::uint64_t count() const { return count_; }

  // columns [{name, type, declared}], row_count, truncated, and rows [[…]], objects [{…}] or csv.
  // Empty when not even an answer without rows fits.
  [[nodiscard]] std::optional<json::object> take(bool truncated) &&;

 private:
  struct Column {
    std::string name;
    std::string declared;
    int type = SQLITE_NULL;  // of all values that are not NULL; kMixed if they differ
  };
  static constexpr int kMixed = -1;

  void note_types();

  sqlite3_stmt* statement_;
  SqlFormat format_;
  std::uint64_t max_answer_;
  std::uint64_t room_ = 0;
  std::uint64_t count_ = 0;
  std::vector<Column> columns_;
  std::vector<std::string> keys_;  // of objects: the names, each of them once
  json::array rows_;
  std::string csv_;
};

}  // namespace sallyport
