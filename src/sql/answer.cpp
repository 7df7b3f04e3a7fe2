#include "sql/answer.h"

#include <cmath>
#include <set>

#include "base/base64.h"
#include "base/text.h"

namespace sallyport {
namespace {

constexpr std::int64_t kGreatestExact = (std::int64_t{1} << 53) - 1;

constexpr std::string_view kTypeNames[] = {"null", "boolean", "integer", "real", "numeric",
                                           "text", "blob",    "json",    "mixed"};

std::string_view type_name(SqlType type) {
  return kTypeNames[static_cast<std::size_t>(type)];
}

}  // namespace

SqlValue SqlValue::of_integer(std::int64_t number) {
  if (number > kGreatestExact || number < -kGreatestExact)
    return {SqlType::integer, json::string(std::to_string(number))};
  return {SqlType::integer, number};
}

SqlValue SqlValue::of_real(double number) {
  if (std::isnan(number)) return {SqlType::real, json::string("NaN")};
  if (std::isinf(number))
    return {SqlType::real, json::string(number > 0 ? "Infinity" : "-Infinity")};
  return {SqlType::real, number};
}

SqlValue SqlValue::of_text(std::string_view text) {
  return {SqlType::text, json::string(to_utf8(text))};
}

SqlValue SqlValue::of_blob(std::string_view bytes) {
  return {SqlType::blob, json::object{{"base64", to_base64(bytes)}}};
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

std::string csv_field(const SqlValue& value) {
  if (value.type == SqlType::null) return {};
  if (value.type == SqlType::blob)
    return csv_field(std::string_view(value.value.at("base64").get_string()));
  if (const json::string* text = value.value.if_string()) return csv_field(std::string_view(*text));
  const std::string plain = canonical_json(value.value);
  return value.type == SqlType::json ? csv_field(std::string_view(plain)) : plain;
}

SqlAnswer::SqlAnswer(std::vector<SqlAnswerColumn> columns, SqlFormat format,
                     std::uint64_t max_answer)
    : format_(format), max_answer_(max_answer), columns_(std::move(columns)) {
  std::set<std::string> taken;
  // What stands around the rows, at its longest.
  std::size_t around = 120;
  for (const SqlAnswerColumn& column : columns_) {
    // An object has each of its names once.
    std::string key = column.name;
    for (int number = 2; !taken.insert(key).second; ++number)
      key = column.name + "_" + std::to_string(number);
    keys_.push_back(std::move(key));
    csv_.append(csv_.empty() ? "" : ",").append(csv_field(std::string_view(column.name)));
    around += canonical_json(json::string(column.name)).size() +
              canonical_json(json::string(column.declared)).size() + 60;
  }
  csv_ += "\r\n";
  if (format_ == SqlFormat::csv) around += canonical_json(json::string(csv_)).size();
  room_ = max_answer_ > around ? max_answer_ - around : 0;
}

bool SqlAnswer::add(std::vector<SqlValue> values) {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    SqlType& known = columns_[i].type;
    if (values[i].type == SqlType::null || values[i].type == known) continue;
    known = known == SqlType::null ? values[i].type : SqlType::mixed;
  }
  json::value row;
  std::string line;
  if (format_ == SqlFormat::csv) {
    for (std::size_t i = 0; i < values.size(); ++i)
      line.append(i == 0 ? "" : ",").append(csv_field(values[i]));
    line += "\r\n";
  } else if (format_ == SqlFormat::rows) {
    json::array list;
    for (SqlValue& value : values)
      list.push_back(std::move(value.value));
    row = std::move(list);
  } else {
    json::object object;
    for (std::size_t i = 0; i < values.size(); ++i)
      object[keys_[i]] = std::move(values[i].value);
    row = std::move(object);
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
  for (const SqlAnswerColumn& column : columns_) {
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

Error answer_too_large() {
  return {Reason::result_too_large, "not even an answer without rows fits into max_result",
          "ask for fewer columns"};
}

Error first_row_too_large(const SqlOrder& order) {
  return {Reason::result_too_large,
          "the first row alone is larger than the " + std::to_string(order.max_answer) +
              " bytes that may come back",
          "ask for fewer columns, or for a part of a long one with substr()"};
}

}  // namespace sallyport
