#include "sql/answer.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/base64.h"
#include "base/text.h"

namespace sallyport {
namespace {

constexpr std::int64_t kGreatestExact = (std::int64_t{1} << 53) - 1;

std::string_view bytes_of(sqlite3_value* value) {
  const auto* bytes = static_cast<const char*>(sqlite3_value_blob(value));
  const int size = sqlite3_value_bytes(value);
  return bytes == nullptr ? std::string_view()
                          : std::string_view(bytes, static_cast<std::size_t>(size));
}

std::string_view type_name(int type) {
  switch (type) {
    case SQLITE_INTEGER:
      return "integer";
    case SQLITE_FLOAT:
      return "real";
    case SQLITE_TEXT:
      return "text";
    case SQLITE_BLOB:
      return "blob";
    case SQLITE_NULL:
      return "null";
    default:
      return "mixed";
  }
}

}  // namespace

json::value value_of(sqlite3_value* value) {
  switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER: {
      const std::int64_t number = sqlite3_value_int64(value);
      if (number > kGreatestExact || number < -kGreatestExact)
        return json::string(std::to_string(number));
      return number;
    }
    case SQLITE_FLOAT: {
      const double number = sqlite3_value_double(value);
      if (std::isinf(number)) return json::string(number > 0 ? "Infinity" : "-Infinity");
      return number;
    }
    case SQLITE_TEXT: {
      const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(value));
      const auto size = static_cast<std::size_t>(sqlite3_value_bytes(value));
      return json::string(text == nullptr ? std::string() : to_utf8({text, size}));
    }
    case SQLITE_BLOB:
      return json::object{{"base64", to_base64(bytes_of(value))}};
    default:
      return nullptr;
  }
}

std::string csv_field(std::string_view text) {
  if (!text.empty() && text.find_first_of(",\"\r\n") == std::string_view::npos &&
      text.front() != ' ' && text.back() != ' ')
    return std::string(text);
  std::string field = "\"";
  for (const char c : text)
    field.append(c == '"' ? 2 : 1, c);
  return field + "\"";
}

std::string csv_field(sqlite3_value* value) {
  if (sqlite3_value_type(value) == SQLITE_NULL) return {};
  const json::value plain = value_of(value);
  if (const json::string* text = plain.if_string()) return csv_field(std::string_view(*text));
  if (const json::object* blob = plain.if_object())
    return csv_field(std::string_view(blob->at("base64").get_string()));
  return canonical_json(plain);
}

SqlAnswer::SqlAnswer(sqlite3_stmt* statement, SqlFormat format, std::uint64_t max_answer)
    : statement_(statement), format_(format), max_answer_(max_answer) {
  std::set<std::string> taken;
  for (int i = 0; i < sqlite3_column_count(statement); ++i) {
    const char* name = sqlite3_column_name(statement, i);
    const char* declared = sqlite3_column_decltype(statement, i);
    columns_.push_back({.name = to_utf8(name == nullptr ? "" : name),
                        .declared = to_utf8(declared == nullptr ? "" : declared)});
    // An object has each of its names once.
    std::string key = columns_.back().name;
    for (int number = 2; !taken.insert(key).second; ++number)
      key = columns_.back().name + "_" + std::to_string(number);
    keys_.push_back(std::move(key));
    csv_.append(i == 0 ? "" : ",").append(csv_field(std::string_view(columns_.back().name)));
  }
  csv_ += "\r\n";
  // What stands around the rows, at its longest.
  std::size_t around = 120;
  for (const Column& column : columns_)
    around += canonical_json(json::string(column.name)).size() +
              canonical_json(json::string(column.declared)).size() + 60;
  if (format_ == SqlFormat::csv) around += canonical_json(json::string(csv_)).size();
  room_ = max_answer_ > around ? max_answer_ - around : 0;
}

void SqlAnswer::note_types() {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const int type = sqlite3_column_type(statement_, static_cast<int>(i));
    int& known = columns_[i].type;
    if (type == SQLITE_NULL || type == known) continue;
    known = known == SQLITE_NULL ? type : kMixed;
  }
}

bool SqlAnswer::add() {
  note_types();  // before a value is asked for as text, which may change it
  json::value row;
  std::string line;
  if (format_ == SqlFormat::csv) {
    for (std::size_t i = 0; i < columns_.size(); ++i)
      line.append(i == 0 ? "" : ",")
          .append(csv_field(sqlite3_column_value(statement_, static_cast<int>(i))));
    line += "\r\n";
  } else if (format_ == SqlFormat::rows) {
    json::array values;
    for (std::size_t i = 0; i < columns_.size(); ++i)
      values.push_back(value_of(sqlite3_column_value(statement_, static_cast<int>(i))));
    row = std::move(values);
  } else {
    json::object values;
    for (std::size_t i = 0; i < columns_.size(); ++i)
      values[keys_[i]] = value_of(sqlite3_column_value(statement_, static_cast<int>(i)));
    row = std::move(values);
  }
  const std::uint64_t size =
      1 + (format_ == SqlFormat::csv ? canonical_json(json::string(line)).size()
                                     : canonical_json(row).size());
  if (size > room_) return false;
  room_ -= size;
  ++count_;
  if (format_ == SqlFormat::csv)
    csv_ += line;
  else
    rows_.push_back(std::move(row));
  return true;
}

std::optional<json::object> SqlAnswer::take(bool truncated) && {
  json::array columns;
  for (const Column& column : columns_) {
    json::object described{{"name", column.name}, {"type", type_name(column.type)}};
    if (!column.declared.empty()) described["declared"] = column.declared;
    columns.push_back(std::move(described));
  }
  json::object answer{{"columns", std::move(columns)},
                      {"row_count", static_cast<std::int64_t>(count_)},
                      {"truncated", truncated}};
  if (format_ == SqlFormat::csv)
    answer["csv"] = csv_;
  else
    answer[format_ == SqlFormat::rows ? "rows" : "objects"] = std::move(rows_);
  if (canonical_json(answer).size() > max_answer_) return std::nullopt;
  return answer;
}

}  // namespace sallyport
