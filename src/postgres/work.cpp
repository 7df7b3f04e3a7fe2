#include "postgres/work.h"

#include <algorithm>
#include <charconv>

#include "base/parse.h"
#include "base/text.h"
#include "postgres/known_functions.h"
#include "postgres/query_screen.h"
#include "postgres/rights.h"
#include "sql/answer.h"
#include "sql/tables_answer.h"

namespace sallyport {
namespace {

struct Session {
  PgConnection connection;
  PgRights rights;
  PgAllowed allowed;
};

// ---- Names

std::string shown_name(const PgTable& table) {
  return table.schema == "public" ? table.name : table.schema + "." + table.name;
}

std::vector<SqlTable> shown_tables(const PgRights& rights) {
  std::vector<SqlTable> tables;
  tables.reserve(rights.tables.size());
  for (const PgTable& table : rights.tables)
    tables.push_back({.name = shown_name(table), .view = table.view, .columns = table.columns});
  return tables;
}

std::string allowed_text(const SqlOrder& order, const Session& session) {
  return order.rule + " allows to read: " + describe(shown_tables(session.rights));
}

// ---- The session

// Everything that bounds the session stands in its first message, before any statement.
PgLogin login_of(const SqlOrder& order) {
  const SqlServer& server = *order.server;
  const std::string time = std::to_string(order.milliseconds);
  return {.user = server.role,
          .database = server.database,
          .password = server.password,
          .must_ask = true,
          .tls = server.tls,
          .host = server.host,
          .certificates = server.certificates,
          .settings = {{"default_transaction_read_only", "on"},
                       {"statement_timeout", time},
                       {"idle_in_transaction_session_timeout", time},
                       // Whoever ends the cell ends the query.
                       {"client_connection_check_interval", "1000"},
                       {"DateStyle", "ISO, YMD"},
                       {"bytea_output", "hex"},
                       {"row_security", "on"}}};
}

Error refused(const std::vector<std::string>& more) {
  constexpr std::size_t kShown = 5;
  std::string list;
  for (std::size_t i = 0; i < std::min(more.size(), kShown); ++i)
    list += (i == 0 ? "" : "; it ") + escape_for_terminal(more[i]);
  if (more.size() > kShown) list += "; and " + std::to_string(more.size() - kShown) + " more";
  return {Reason::cannot_enforce, "the role of this tool is not held to the policy: it " + list,
          "an operator has to run `sallyport sql prepare` again, or to take these rights away"};
}

// A few functions on very long texts cannot be interrupted, and go on when their call has ended.
Result<void> check_runaways(PgConnection& connection, const SqlOrder& order) {
  constexpr std::size_t kMost = 2;
  const PgValue params[] = {std::to_string(order.milliseconds + 2000)};
  const auto late = connection.query(
      "SELECT a.pid FROM pg_catalog.pg_stat_activity a WHERE a.usename = CURRENT_USER AND "
      "a.state = 'active' AND a.query_start < pg_catalog.clock_timestamp() - $1::int4 * '1 "
      "ms'::interval",
      params);
  if (!late)
    return fail(Reason::unavailable, "sessions cannot be counted: " + late.error().message);
  if (late->rows.size() < kMost) return {};
  return fail(Reason::unavailable,
              std::to_string(late->rows.size()) +
                  " queries of earlier calls of this tool still run at the server, past their time",
              "try again when they have ended, or ask an operator to end them");
}

Result<Session> open_session(const SqlOrder& order, Fd socket) {
  auto connection = PgConnection::open(std::move(socket), login_of(order));
  if (!connection) return std::unexpected(std::move(connection.error()));
  if (auto begun = connection->query("BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY");
      !begun)
    return fail(Reason::unavailable, "no transaction can be begun: " + begun.error().message);
  auto rights = read_rights(*connection, order.server->role);
  if (!rights) return std::unexpected(std::move(rights.error()));
  if (auto idle = check_runaways(*connection, order); !idle)
    return std::unexpected(std::move(idle.error()));
  PgAllowed allowed(order);
  if (const auto more = excess(*rights, allowed); !more.empty())
    return std::unexpected(refused(more));
  return Session{std::move(*connection), std::move(*rights), std::move(allowed)};
}

// ---- Values

enum PgType : std::uint32_t {
  kBool = 16,
  kBytea = 17,
  kInt8 = 20,
  kInt2 = 21,
  kInt4 = 23,
  kOid = 26,
  kJson = 114,
  kFloat4 = 700,
  kFloat8 = 701,
  kNumeric = 1700,
  kJsonb = 3802,
};

struct TypeText {
  std::uint32_t type;
  std::string_view name;
};
constexpr TypeText kTypes[] = {
    {kBool, "boolean"},  {kBytea, "bytea"},           {kInt8, "bigint"},
    {kInt2, "smallint"}, {kInt4, "integer"},          {25, "text"},
    {kJson, "json"},     {kFloat4, "real"},           {kFloat8, "double precision"},
    {1042, "character"}, {1043, "character varying"}, {1082, "date"},
    {1083, "time"},      {1114, "timestamp"},         {1184, "timestamp with time zone"},
    {1186, "interval"},  {kNumeric, "numeric"},       {2950, "uuid"},
    {kJsonb, "jsonb"},
};

std::string declared(std::uint32_t type) {
  const auto* row = std::ranges::find(kTypes, type, &TypeText::type);
  return row == std::end(kTypes) ? std::string() : std::string(row->name);
}

// "\x…", as the server writes bytes.
std::optional<std::string> from_hex(std::string_view text) {
  if (!text.starts_with("\\x") || text.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  for (std::size_t i = 2; i < text.size(); i += 2) {
    unsigned byte = 0;
    const auto read = std::from_chars(text.data() + i, text.data() + i + 2, byte, 16);
    if (read.ec != std::errc() || read.ptr != text.data() + i + 2) return std::nullopt;
    bytes.push_back(static_cast<char>(byte));
  }
  return bytes;
}

SqlValue value_of(const PgValue& value, std::uint32_t type) {
  if (!value) return {};
  switch (type) {
    case kBool:
      return {SqlType::boolean, *value == "t"};
    case kInt2:
    case kInt4:
    case kInt8:
    case kOid:
      if (const auto number = whole_number<std::int64_t>(*value))
        return SqlValue::of_integer(*number);
      break;
    case kFloat4:
    case kFloat8:
      if (const auto number = whole_number<double>(*value)) return SqlValue::of_real(*number);
      break;
    case kNumeric:
      return {SqlType::numeric, json::string(*value)};
    case kBytea:
      if (const auto bytes = from_hex(*value)) return SqlValue::of_blob(*bytes);
      break;
    case kJson:
    case kJsonb:
      // Numbers that JSON readers would round stay text.
      if (auto parsed = parse_json(*value)) return {SqlType::json, std::move(*parsed)};
      break;
    default:
      break;
  }
  return SqlValue::of_text(*value);
}

Result<std::vector<PgValue>> params_of(const json::value& params) {
  const json::array* list = params.if_array();
  const json::object* names = params.if_object();
  if (list == nullptr && (names == nullptr || !names->empty()))
    return fail(Reason::argument, "`params` of PostgreSQL are a list",
                "write $1, $2 where they go");
  std::vector<PgValue> values;
  if (list == nullptr) return values;
  for (const json::value& each : *list) {
    if (each.is_null())
      values.emplace_back(std::nullopt);
    else if (const json::string* text = each.if_string())
      values.emplace_back(std::string(*text));
    else if (each.is_bool() || each.is_number())
      values.emplace_back(canonical_json(each));
    else
      return fail(Reason::argument, "a parameter is a list or an object",
                  "strings, numbers, booleans and null can be given");
  }
  if (values.size() > 1000)
    return fail(Reason::argument, "there are more than 1000 parameters", "give fewer");
  return values;
}

// ---- The three actions

// What is not allowed and what is not there answer the same. Where only some columns of a table may
// be read, so does every mistake: the server looks at names and types before it looks at rights.
Error explain(const PgProblem& problem, const SqlOrder& order, const Session& session,
              bool partial) {
  constexpr std::string_view kNotThere[] = {"42501", "42703", "42846", "42P01", "3F000"};
  if (std::ranges::find(kNotThere, problem.state) != std::end(kNotThere) ||
      (partial && problem.state.starts_with("42")))
    return {
        Reason::argument,
        partial ? "the query names a column that this tool may not read, or that is not there, "
                  "or it is not right"
                : "the query names a table or a column that this tool may not read, or that is "
                  "not there",
        allowed_text(order, session) + "; `*` works for tables of which all columns may be read"};
  if (problem.state == "57014")
    return {Reason::timeout,
            "the query was ended after " + std::to_string(order.milliseconds) + " ms",
            "ask for less, or narrow it down with WHERE"};
  if (problem.state.empty()) return {Reason::unavailable, problem.message, problem.hint};
  return {Reason::argument, "the query is not right: " + problem.message,
          problem.hint.empty() ? "write one SELECT as PostgreSQL understands it" : problem.hint};
}

// A name behind a dot is a column of a table, or nothing that the server could call.
Result<void> check_names(const std::set<std::string>& names, Session& session) {
  std::string list = "{";
  for (const std::string& name : names) {
    const bool is_column = std::ranges::any_of(session.rights.tables, [&](const PgTable& table) {
      return std::ranges::find(table.columns, name, &SqlColumn::name) != table.columns.end();
    });
    if (is_column || is_known_function(name) || is_known_type(name)) continue;
    std::string quotes;
    for (const char c : name)
      quotes.append(c == '"' || c == '\\' ? "\\" : "").push_back(c);
    list += (list.size() > 1 ? ",\"" : "\"") + quotes + "\"";
  }
  const PgValue params[] = {list + "}"};
  const auto taken = session.connection.query(
      // Not the row types of tables: whether there is one would tell whether there is the table.
      "SELECT p.proname::text FROM pg_catalog.pg_proc p WHERE p.proname = ANY ($1::name[]) UNION "
      "SELECT t.typname::text FROM pg_catalog.pg_type t LEFT JOIN pg_catalog.pg_type e ON e.oid = "
      "t.typelem WHERE t.typname = ANY ($1::name[]) AND t.typtype <> 'c' AND (e.typtype IS NULL OR "
      "e.typtype <> 'c')",
      params);
  if (!taken)
    return fail(Reason::unavailable, "names cannot be looked up: " + taken.error().message);
  if (taken->rows.empty()) return {};
  return fail(Reason::argument,
              "the name " + quoted(taken->text(0, 0)) +
                  " behind a dot may be a function or a type, and is not available",
              "give the column another name with AS");
}

Result<json::object> query(const SqlOrder& order, Session& session) {
  bool partial = false;
  const MayRead may_read = [&](std::string_view schema, std::string_view name) {
    const auto found = std::ranges::find_if(session.rights.tables, [&](const PgTable& table) {
      return table.name == name && table.schema == (schema.empty() ? "public" : schema);
    });
    const bool is_there = found != session.rights.tables.end();
    partial = partial || (is_there && !found->whole);
    return is_there;
  };
  auto screened = screen_query(order.query, may_read);
  if (!screened) {
    if (screened.error().message.starts_with("there is no table"))
      screened.error().hint = allowed_text(order, session);
    return std::unexpected(std::move(screened.error()));
  }
  if (auto checked = check_names(*screened, session); !checked)
    return std::unexpected(std::move(checked.error()));
  const auto params = params_of(order.params);
  if (!params) return std::unexpected(params.error());
  // Only now: what stands before is ours, and must not find an operator of somebody else's.
  if (auto set = session.connection.query("SET LOCAL search_path TO public"); !set)
    return fail(Reason::unavailable, "the session cannot be set up: " + set.error().message);

  std::optional<SqlAnswer> answer;
  std::vector<PgColumn> columns;
  bool truncated = false;
  const PgConnection::Taker taker{
      .columns =
          [&](std::vector<PgColumn> described) {
            columns = std::move(described);
            std::vector<SqlAnswerColumn> shown;
            shown.reserve(columns.size());
            for (const PgColumn& column : columns)
              shown.push_back({.name = to_utf8(column.name), .declared = declared(column.type)});
            answer.emplace(std::move(shown), order.format, order.max_answer);
          },
      .row =
          [&](const std::vector<PgValue>& row) {
            std::vector<SqlValue> values;
            values.reserve(columns.size());
            for (std::size_t i = 0; i < columns.size(); ++i)
              values.push_back(i < row.size() ? value_of(row[i], columns[i].type) : SqlValue());
            truncated = !answer || answer->count() >= order.rows || !answer->add(std::move(values));
            return !truncated;
          }};
  const auto limit =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(order.rows, INT32_MAX - 1) + 1);
  if (auto done = session.connection.query(order.query, *params, taker, limit); !done)
    return std::unexpected(explain(done.error(), order, session, partial));
  if (!answer) return fail(Reason::argument, "the query has no columns", "select something");
  if (truncated && answer->count() == 0) return std::unexpected(first_row_too_large(order));
  auto taken = std::move(*answer).take(truncated);
  if (!taken) return std::unexpected(answer_too_large());
  return std::move(*taken);
}

Result<json::object> describe_table(const SqlOrder& order, const Session& session) {
  for (const SqlTable& table : shown_tables(session.rights))
    if (folded(table.name) == folded(order.table) ||
        "public." + folded(table.name) == folded(order.table))
      return table_answer(table, order.max_answer);
  return fail(Reason::argument,
              "there is no table " + quoted(order.table) + " that this tool may read",
              allowed_text(order, session));
}

}  // namespace

Result<json::object> do_postgres_work(const SqlOrder& order, Fd connection) {
  auto session = open_session(order, std::move(connection));
  if (!session) return std::unexpected(std::move(session.error()));
  switch (order.action) {
    case SqlAction::query:
      return query(order, *session);
    case SqlAction::list_tables:
      return tables_answer(shown_tables(session->rights),
                           missing(session->rights, session->allowed), order.max_answer);
    case SqlAction::describe_table:
      return describe_table(order, *session);
  }
  return fail(Reason::internal, "there is no such work");
}

}  // namespace sallyport
