// Values and columns of SQLite, as an answer has them.
#pragma once

#include <sqlite3.h>

#include <vector>

#include "sql/answer.h"

namespace sallyport {

[[nodiscard]] std::vector<SqlAnswerColumn> columns_of(sqlite3_stmt* statement);

// The row that `statement` is at.
[[nodiscard]] std::vector<SqlValue> row_of(sqlite3_stmt* statement);

}  // namespace sallyport
