// Rows on their way to a model: as many as the answer has room for.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "sql/order.h"

namespace sallyport {

enum class SqlType { null, boolean, integer, real, numeric, text, blob, json, mixed };

// A value of a row. Integers that a double cannot hold exactly, infinities and numbers of arbitrary
// precision are strings, a blob is {"base64": "…"}, text that is not UTF-8 has U+FFFD in it.
struct SqlValue {
  SqlType type = SqlType::null;
  json::value value = nullptr;

  [[nodiscard]] static SqlValue of_integer(std::int64_t number);
  [[nodiscard]] static SqlValue of_real(double number);
  [[nodiscard]] static SqlValue of_text(std::string_view text);
  [[nodiscard]] static SqlValue of_blob(std::string_view bytes);
};

// A field of CSV (RFC 4180): in quotes where it has to be. NULL is an empty field, an empty text is
// "". A blob is its base64.
[[nodiscard]] std::string csv_field(const SqlValue& value);
[[nodiscard]] std::string csv_field(std::string_view text);

struct SqlAnswerColumn {
  std::string name;
  std::string declared = {};     // what the table says; may be empty
  SqlType type = SqlType::null;  // of all values that are not NULL
};

class SqlAnswer {
 public:
  SqlAnswer(std::vector<SqlAnswerColumn> columns, SqlFormat format, std::uint64_t max_answer);

  // A value for each column. False: there is no room for the row, and none is to follow.
  [[nodiscard]] bool add(std::vector<SqlValue> row);
  [[nodiscard]] std::uint64_t count() const { return count_; }

  // columns [{name, type, declared}], row_count, truncated, and rows [[…]], objects [{…}] or csv.
  // Empty when not even an answer without rows fits.
  [[nodiscard]] std::optional<json::object> take(bool truncated) &&;

 private:
  SqlFormat format_;
  std::uint64_t max_answer_;
  std::uint64_t room_ = 0;
  std::uint64_t count_ = 0;
  std::vector<SqlAnswerColumn> columns_;
  std::vector<std::string> keys_;  // of objects: the names, each of them once
  json::array rows_;
  std::string csv_;
};

// What both engines say when an answer cannot be given.
[[nodiscard]] Error answer_too_large();
[[nodiscard]] Error first_row_too_large(const SqlOrder& order);

}  // namespace sallyport
