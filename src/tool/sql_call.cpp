#include "tool/sql_call.h"

#include <algorithm>

#include "base/text.h"
#include "postgres/role.h"
#include "tool/database_grants.h"

namespace sallyport {
namespace {

std::string optional_text(const ToolCall& call, std::string_view name) {
  const json::value* value = call.arguments.if_contains(name);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

// Whether the caller's role allows less than the tool.
bool narrows(const Envelope& envelope) {
  return envelope.role != nullptr && envelope.role->tables;
}

// The role at the server is that of what is in force for the caller.
Result<SqlServer> make_sql_server(const ToolCall& call) {
  auto address = PostgresAddress::parse(call.tool.database);
  if (!address) return std::unexpected(std::move(address.error()));
  if (call.sql_key.empty())
    return fail(Reason::unavailable,
                "the roles at a database server have passwords that a state directory keeps, and "
                "there is none",
                "call it with a state directory for which `sallyport sql prepare` was run");
  std::string role = server_role(*address, call.tool, call.envelope);
  std::string password = postgres_password(call.sql_key, *address, role);
  return SqlServer{.role = std::move(role),
                   .password = std::move(password),
                   .database = address->database,
                   .tls = address->tls,
                   .host = address->host,
                   .certificates = address->tls ? call.certificates : std::string()};
}

}  // namespace

void allow_tables(const Envelope& envelope, SqlOrder& order) {
  order.all_tables = envelope.tables.all_tables;
  order.tables.clear();
  order.tables.insert(envelope.tables.tables.begin(), envelope.tables.tables.end());
}

std::string server_role(const PostgresAddress& address, const Tool& tool,
                        const Envelope& envelope) {
  return postgres_role(address, tool.name, narrows(envelope) ? envelope.role->name : "");
}

Result<SqlOrder> make_sql_order(const ToolCall& call) {
  SqlOrder order;
  order.query = optional_text(call, "query");
  order.table = optional_text(call, "table");
  if (call.arguments.contains("action")) {
    const auto action = sql_action(optional_text(call, "action"));
    if (!action) return fail(Reason::argument, "the argument 'action' names no action");
    order.action = *action;
  }
  if (call.arguments.contains("format")) {
    const auto format = sql_format(optional_text(call, "format"));
    if (!format) return fail(Reason::argument, "the argument 'format' names no format");
    order.format = *format;
  }
  if (const json::value* params = call.arguments.if_contains("params")) order.params = *params;
  const bool asks = order.action == SqlAction::query;
  if (asks == order.query.empty())
    return fail(Reason::argument,
                asks ? "the argument 'query' is missing" : "this action takes no 'query'",
                "give a SELECT in `query`, or take one of the actions list_tables and "
                "describe_table");
  if ((order.action == SqlAction::describe_table) == order.table.empty())
    return fail(Reason::argument,
                order.table.empty() ? "the argument 'table' is missing"
                                    : "only describe_table takes a 'table'",
                "action describe_table takes the name of a table; list_tables has them");
  allow_tables(call.envelope, order);
  order.rule = "tools." + call.tool.name + ".tables";
  if (narrows(call.envelope)) order.rule += " (with roles." + call.envelope.role->name + ".tables)";
  if (call.tool.rows) order.rows = *call.tool.rows;
  order.max_answer = call.limits.max_result.bytes;
  // It is to end by itself and say why, before the cell's limits end it.
  const auto time = std::min(call.limits.timeout, call.limits.cpu);
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
  order.milliseconds = static_cast<std::uint64_t>(std::max<std::int64_t>(milliseconds * 9 / 10, 1));
  order.memory = call.limits.memory.bytes / 2;
  if (asks_server(call.tool)) {
    auto server = make_sql_server(call);
    if (!server) return std::unexpected(std::move(server.error()));
    order.server = std::move(*server);
  }
  return order;
}

}  // namespace sallyport
