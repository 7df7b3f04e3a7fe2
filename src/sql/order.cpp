#include "sql/order.h"

#include <algorithm>
#include <iterator>

namespace sallyport {
namespace {

struct ActionText {
  SqlAction action;
  std::string_view name;
};
constexpr ActionText kActions[] = {{SqlAction::query, "query"},
                                   {SqlAction::list_tables, "list_tables"},
                                   {SqlAction::describe_table, "describe_table"}};

struct FormatText {
  SqlFormat format;
  std::string_view name;
};
constexpr FormatText kFormats[] = {
    {SqlFormat::rows, "rows"}, {SqlFormat::objects, "json"}, {SqlFormat::csv, "csv"}};

// Behind everything that a caller may send, so that no order is refused for its size.
constexpr JsonLimits kOrderLimits{.max_depth = 16, .max_bytes = std::size_t{256} << 20};

std::string_view text_at(const json::object& order, std::string_view key) {
  const json::value* value = order.if_contains(key);
  return value != nullptr && value->is_string() ? std::string_view(value->get_string())
                                                : std::string_view();
}

bool flag_at(const json::object& order, std::string_view key) {
  const json::value* value = order.if_contains(key);
  return value != nullptr && value->is_bool() && value->get_bool();
}

std::uint64_t count_at(const json::object& order, std::string_view key) {
  const json::value* value = order.if_contains(key);
  return value != nullptr && value->is_int64() && value->get_int64() > 0
             ? static_cast<std::uint64_t>(value->get_int64())
             : 0;
}

// Counts of a policy may be as large as 64 bits are; what is past 63 is as good as without end.
std::int64_t number(std::uint64_t count) {
  return static_cast<std::int64_t>(std::min<std::uint64_t>(count, INT64_MAX));
}

}  // namespace

std::optional<SqlAction> sql_action(std::string_view name) {
  const auto* found = std::ranges::find(kActions, name, &ActionText::name);
  return found == std::end(kActions) ? std::nullopt : std::optional(found->action);
}

std::optional<SqlFormat> sql_format(std::string_view name) {
  const auto* found = std::ranges::find(kFormats, name, &FormatText::name);
  return found == std::end(kFormats) ? std::nullopt : std::optional(found->format);
}

std::string to_text(const SqlOrder& order) {
  json::object tables;
  for (const auto& [table, columns] : order.tables)
    tables[table] = json::array(columns.begin(), columns.end());
  json::value server = nullptr;
  if (order.server)
    server = json::object{
        {"role", order.server->role},         {"password", order.server->password},
        {"database", order.server->database}, {"tls", order.server->tls},
        {"host", order.server->host},         {"certificates", order.server->certificates}};
  return canonical_json(
      json::object{{"action", std::ranges::find(kActions, order.action, &ActionText::action)->name},
                   {"format", std::ranges::find(kFormats, order.format, &FormatText::format)->name},
                   {"database", order.database},
                   {"server", std::move(server)},
                   {"query", order.query},
                   {"params", order.params},
                   {"table", order.table},
                   {"all_tables", order.all_tables},
                   {"tables", std::move(tables)},
                   {"rule", order.rule},
                   {"rows", number(order.rows)},
                   {"max_answer", number(order.max_answer)},
                   {"milliseconds", number(order.milliseconds)},
                   {"memory", number(order.memory)}});
}

Result<SqlOrder> parse_sql_order(std::string_view text) {
  auto value = parse_json(text, kOrderLimits);
  if (!value) return std::unexpected(std::move(value.error()));
  const json::object* object = value->if_object();
  const json::value* tables = object != nullptr ? object->if_contains("tables") : nullptr;
  if (tables == nullptr || !tables->is_object())
    return fail(Reason::internal, "the order has no tables");
  const auto action = sql_action(text_at(*object, "action"));
  const auto format = sql_format(text_at(*object, "format"));
  if (!action || !format) return fail(Reason::internal, "the order does not say what to do");
  SqlOrder order{.action = *action, .format = *format};
  order.database = text_at(*object, "database");
  if (const json::value* server = object->if_contains("server");
      server != nullptr && server->is_object()) {
    const json::object& said = server->get_object();
    order.server = SqlServer{.role = std::string(text_at(said, "role")),
                             .password = std::string(text_at(said, "password")),
                             .database = std::string(text_at(said, "database")),
                             .tls = flag_at(said, "tls"),
                             .host = std::string(text_at(said, "host")),
                             .certificates = std::string(text_at(said, "certificates"))};
  }
  order.query = text_at(*object, "query");
  if (const json::value* params = object->if_contains("params")) order.params = *params;
  order.table = text_at(*object, "table");
  order.all_tables = flag_at(*object, "all_tables");
  for (const auto& [name, columns] : tables->get_object()) {
    if (!columns.is_array()) return fail(Reason::internal, "the columns of a table are no list");
    std::vector<std::string>& list = order.tables[std::string(name)];
    for (const json::value& column : columns.get_array()) {
      if (!column.is_string()) return fail(Reason::internal, "the name of a column is no text");
      list.emplace_back(column.get_string());
    }
  }
  order.rule = text_at(*object, "rule");
  order.rows = count_at(*object, "rows");
  order.max_answer = count_at(*object, "max_answer");
  order.milliseconds = count_at(*object, "milliseconds");
  order.memory = count_at(*object, "memory");
  return order;
}

}  // namespace sallyport
