#include "sql/allowed_tables.h"

#include "base/text.h"

namespace sallyport {
namespace {

constexpr std::size_t kLongest = 1500;

}  // namespace

std::string folded(std::string_view name) {
  std::string text(name);
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

std::string sql_name(std::string_view name) {
  std::string text = "\"";
  for (const char c : name)
    text.append(c == '"' ? 2 : 1, c);
  return text + "\"";
}

std::string describe(const std::vector<SqlTable>& tables) {
  if (tables.empty()) return "no table";
  std::string text;
  for (const SqlTable& table : tables) {
    std::string each = escape_for_terminal(table.name) + " (";
    for (const SqlColumn& column : table.columns)
      each.append(each.ends_with('(') ? "" : ", ").append(escape_for_terminal(column.name));
    if (text.size() + each.size() > kLongest) return text + (text.empty() ? "" : ", ") + "…";
    text.append(text.empty() ? "" : ", ").append(each).append(")");
  }
  return text;
}

}  // namespace sallyport
