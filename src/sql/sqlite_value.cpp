#include "sql/sqlite_value.h"

#include "base/text.h"

namespace sallyport {
namespace {

std::string_view bytes_of(const void* bytes, int size) {
  return bytes == nullptr
             ? std::string_view()
             : std::string_view(static_cast<const char*>(bytes), static_cast<std::size_t>(size));
}

SqlValue value_at(sqlite3_stmt* statement, int column) {
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
      return SqlValue::of_integer(sqlite3_column_int64(statement, column));
    case SQLITE_FLOAT:
      return SqlValue::of_real(sqlite3_column_double(statement, column));
    case SQLITE_TEXT: {
      const void* text = sqlite3_column_text(statement, column);
      return SqlValue::of_text(bytes_of(text, sqlite3_column_bytes(statement, column)));
    }
    case SQLITE_BLOB: {
      const void* bytes = sqlite3_column_blob(statement, column);
      return SqlValue::of_blob(bytes_of(bytes, sqlite3_column_bytes(statement, column)));
    }
    default:
      return {};
  }
}

}  // namespace

std::vector<SqlAnswerColumn> columns_of(sqlite3_stmt* statement) {
  std::vector<SqlAnswerColumn> columns;
  for (int i = 0; i < sqlite3_column_count(statement); ++i) {
    const char* name = sqlite3_column_name(statement, i);
    const char* declared = sqlite3_column_decltype(statement, i);
    columns.push_back({.name = to_utf8(name == nullptr ? "" : name),
                       .declared = to_utf8(declared == nullptr ? "" : declared)});
  }
  return columns;
}

std::vector<SqlValue> row_of(sqlite3_stmt* statement) {
  const int count = sqlite3_column_count(statement);
  std::vector<SqlValue> row;
  row.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i)
    row.push_back(value_at(statement, i));
  return row;
}

}  // namespace sallyport
