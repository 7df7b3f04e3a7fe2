#include "sql/tables_answer.h"

#include "base/text.h"
#include "sql/answer.h"

namespace sallyport {
namespace {

std::string_view kind_of(const SqlTable& table) {
  return table.view ? "view" : "table";
}

}  // namespace

Result<json::object> tables_answer(std::span<const SqlTable> tables,
                                   std::span<const std::string> missing, std::uint64_t max_answer) {
  json::array listed, not_there;
  for (const std::string& name : missing)
    not_there.emplace_back(to_utf8(name));
  json::object answer{{"tables", listed}, {"missing", not_there}, {"truncated", false}};
  std::size_t size = canonical_json(answer).size();
  if (size > max_answer) return std::unexpected(answer_too_large());
  for (const SqlTable& table : tables) {
    json::array columns;
    for (const SqlColumn& column : table.columns)
      columns.emplace_back(to_utf8(column.name));
    json::object each{
        {"name", to_utf8(table.name)}, {"kind", kind_of(table)}, {"columns", std::move(columns)}};
    size += canonical_json(each).size() + 1;
    if (size > max_answer) {
      answer["truncated"] = true;
      break;
    }
    listed.push_back(std::move(each));
  }
  answer["tables"] = std::move(listed);
  return answer;
}

Result<json::object> table_answer(const SqlTable& table, std::uint64_t max_answer) {
  json::array columns;
  for (const SqlColumn& column : table.columns)
    columns.push_back(json::object{{"name", to_utf8(column.name)},
                                   {"type", to_utf8(column.type)},
                                   {"required", column.required},
                                   {"key", column.key}});
  json::object answer{
      {"table", to_utf8(table.name)}, {"kind", kind_of(table)}, {"columns", std::move(columns)}};
  if (canonical_json(answer).size() > max_answer) return std::unexpected(answer_too_large());
  return answer;
}

}  // namespace sallyport
