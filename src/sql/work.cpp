#include "sql/work.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "sql/answer.h"
#include "sql/database.h"
#include "sql/sqlite_value.h"
#include "sql/tables_answer.h"

namespace sallyport {
namespace {

struct Finalize {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;

std::string allowed(const SqlOrder& order, const SqlDatabase& database) {
  return order.rule + " allows to read: " + describe(database.tables());
}

// ---- Refusals

struct ActionText {
  int action;
  std::string_view what;
};
constexpr ActionText kActions[] = {
    {SQLITE_PRAGMA, "a pragma"},
    {SQLITE_ATTACH, "attaching another database"},
    {SQLITE_DETACH, "detaching a database"},
    {SQLITE_TRANSACTION, "a transaction"},
    {SQLITE_SAVEPOINT, "a savepoint"},
    {SQLITE_ANALYZE, "ANALYZE"},
    {SQLITE_REINDEX, "REINDEX"},
};

// The name behind a message of SQLite's, without its schema and in small letters. What is not
// allowed is hidden behind a name of another schema, in the spelling of the database, and must not
// be told apart by it.
std::string plain_name(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  return folded(dot == std::string_view::npos ? name : name.substr(dot + 1));
}

Error no_table(std::string_view name, const SqlOrder& order, const SqlDatabase& database) {
  return {Reason::argument,
          "there is no table " + quoted(plain_name(name)) + " that this tool may read",
          allowed(order, database) + "; write names without a schema"};
}

bool is_allowed(std::string_view name, const SqlDatabase& database) {
  return std::ranges::any_of(database.tables(), [&](const SqlTable& table) {
    return folded(table.name) == plain_name(name);
  });
}

Error explain_refused(const SqlGuard::Refused& refused, const SqlOrder& order,
                      const SqlDatabase& database) {
  if (refused.action == SQLITE_FUNCTION)
    return {Reason::argument, "the function " + quoted(refused.what) + " is not available",
            "there are the usual functions of SQLite on numbers, text, dates and JSON, its "
            "aggregates and its window functions"};
  if (refused.action == SQLITE_READ) return no_table(refused.what, order, database);
  const auto* row = std::ranges::find(kActions, refused.action, &ActionText::action);
  return {Reason::argument,
          row == std::end(kActions)
              ? "this tool only reads, and the statement would change the "
                "database"
              : "the statement is " + std::string(row->what) + ", and this tool runs queries only",
          "write one SELECT; action list_tables and describe_table tell what is there"};
}

Error explain(const SqlOrder& order, const SqlDatabase& database) {
  if (const auto& refused = database.guard().refused())
    return explain_refused(*refused, order, database);
  if (auto error = database.engine_error()) return std::move(*error);
  const std::string message = database.message();
  constexpr std::string_view kNoTable = "no such table: ", kNoColumn = "no such column: ",
                             kNoFunction = "no such function: ";
  if (message.starts_with(kNoTable))
    return no_table(message.substr(kNoTable.size()), order, database);
  // secrets(1): SQLite looks the name up first.
  constexpr std::string_view kNotAFunction = "' is not a function";
  if (message.starts_with('\'') && message.ends_with(kNotAFunction))
    if (const std::string name = message.substr(1, message.size() - 1 - kNotAFunction.size());
        !is_allowed(name, database))
      return no_table(name, order, database);
  if (message.starts_with(kNoColumn))
    return {Reason::argument,
            "there is no column " + quoted(message.substr(kNoColumn.size())) +
                " that this tool may read",
            allowed(order, database) + "; text goes into single quotes"};
  if (message.starts_with(kNoFunction))
    return {Reason::argument,
            "the function " + quoted(message.substr(kNoFunction.size())) + " is not available",
            "there are the usual functions of SQLite on numbers, text, dates and JSON"};
  return {Reason::argument, "the query is not right: " + message,
          "write one SELECT as SQLite understands it"};
}

// ---- The statement

// Where the first word of a statement begins, behind blanks and comments.
std::size_t first_word(std::string_view sql) {
  std::size_t at = 0;
  while (at < sql.size()) {
    const std::string_view rest = sql.substr(at);
    if (std::string_view(" \t\n\f\r").contains(rest.front())) {
      ++at;
    } else if (rest.starts_with("--")) {
      at = std::min(sql.size(), sql.find('\n', at));
    } else if (rest.starts_with("/*")) {
      const std::size_t end = sql.find("*/", at + 2);
      at = end == std::string_view::npos ? sql.size() : end + 2;
    } else {
      break;
    }
  }
  return at;
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || c == '_';
}

// Whether the word stands somewhere in `sql` (in small letters), perhaps within a text or a
// comment.
bool has_word(std::string_view sql, std::string_view word) {
  for (std::size_t at = 0; (at = sql.find(word, at)) != std::string_view::npos; at += word.size()) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_letter(sql[at - 1])) && (end == sql.size() || !is_letter(sql[end])))
      return true;
  }
  return false;
}

// Only queries are compiled at all: how another statement fails would tell which tables there are.
Result<void> check_query(std::string_view sql) {
  if (sql.contains('\0'))
    return fail(Reason::argument, "the query has a NUL character in it", "leave it out");
  const std::string small = folded(sql);
  // Whatever a query does with the tables that SQLite keeps for itself, it has to name them.
  if (small.contains("sqlite_"))
    return fail(Reason::argument,
                "the query names something that begins with sqlite_, which SQLite keeps for itself",
                "action list_tables and describe_table tell what is there; text with sqlite_ in it "
                "goes into `params`");
  const std::string_view start = std::string_view(small).substr(first_word(small));
  if (start.empty()) return fail(Reason::argument, "the query is empty", "write one SELECT");
  const auto length =
      static_cast<std::size_t>(std::ranges::find_if_not(start, is_letter) - start.begin());
  const std::string_view word = start.substr(0, length);
  constexpr std::string_view kQueries[] = {"select", "with", "values"};
  if (std::ranges::find(kQueries, word) != std::end(kQueries)) return {};
  return fail(Reason::argument,
              (word.empty() ? std::string("the query does not begin with SELECT")
                            : "this tool runs queries only, and no " + quoted(word)),
              "write one SELECT (or WITH, or VALUES); action list_tables and describe_table tell "
              "what is there");
}

// WITH … INSERT and its like: whether their table is there must not show in how they are refused.
bool may_write(std::string_view sql) {
  const std::string small = folded(sql);
  return small.substr(first_word(small)).starts_with("with") &&
         std::ranges::any_of(
             std::initializer_list<std::string_view>{"insert", "update", "delete", "into"},
             [&](std::string_view word) { return has_word(small, word); });
}

Result<Statement> compile(const SqlOrder& order, SqlDatabase& database) {
  const std::string& sql = order.query;
  if (auto checked = check_query(sql); !checked) return std::unexpected(std::move(checked.error()));
  database.guard().forget();
  sqlite3_stmt* compiled = nullptr;
  const char* rest = nullptr;
  const int status = sqlite3_prepare_v2(database.handle(), sql.c_str(),
                                        static_cast<int>(sql.size()) + 1, &compiled, &rest);
  Statement statement(compiled);
  if (status != SQLITE_OK && may_write(sql))
    return fail(Reason::argument, "the statement is wrong, or changes the database",
                "write one SELECT; " + allowed(order, database));
  if (status != SQLITE_OK) return std::unexpected(explain(order, database));
  if (!statement) return fail(Reason::argument, "the query is empty", "write one SELECT");
  // Behind it: nothing that is a statement, or could become one.
  while (rest != nullptr && *rest != '\0') {
    sqlite3_stmt* more = nullptr;
    const char* end = nullptr;
    const int again = sqlite3_prepare_v2(database.handle(), rest, -1, &more, &end);
    const Statement second(more);
    if (again != SQLITE_OK || second)
      return fail(Reason::argument, "there is more than one statement",
                  "a call runs one SELECT; call again for another");
    if (end == rest) break;
    rest = end;
  }
  if (sqlite3_stmt_isexplain(statement.get()) != 0 || sqlite3_stmt_readonly(statement.get()) == 0 ||
      sqlite3_column_count(statement.get()) == 0)
    return fail(Reason::argument, "this tool only reads, and the statement is no query",
                "write one SELECT");
  return statement;
}

// ---- Parameters

bool bind(sqlite3_stmt* statement, int place, const json::value& value) {
  switch (value.kind()) {
    case json::kind::null:
      return sqlite3_bind_null(statement, place) == SQLITE_OK;
    case json::kind::bool_:
      return sqlite3_bind_int(statement, place, value.get_bool() ? 1 : 0) == SQLITE_OK;
    case json::kind::int64:
      return sqlite3_bind_int64(statement, place, value.get_int64()) == SQLITE_OK;
    case json::kind::double_:
      return sqlite3_bind_double(statement, place, value.get_double()) == SQLITE_OK;
    case json::kind::string:
      return sqlite3_bind_text64(statement, place, value.get_string().data(),
                                 value.get_string().size(), SQLITE_TRANSIENT,
                                 SQLITE_UTF8) == SQLITE_OK;
    default:
      return false;
  }
}

std::unexpected<Error> bad_value(std::string_view which) {
  return fail(Reason::argument, "the parameter " + quoted(which) + " cannot be a value of SQL",
              "a parameter is a string, a number, true, false or null");
}

Result<void> bind_list(sqlite3_stmt* statement, const json::array& values) {
  const int wanted = sqlite3_bind_parameter_count(statement);
  if (std::cmp_not_equal(values.size(), wanted))
    return fail(Reason::argument,
                "the query has " + std::to_string(wanted) + " parameters, and " +
                    std::to_string(values.size()) + " were given",
                "give one value in `params` for each ?, in their order");
  for (int i = 1; i <= wanted; ++i)
    if (!bind(statement, i, values[static_cast<std::size_t>(i - 1)]))
      return bad_value(std::to_string(i));
  return {};
}

Result<void> bind_names(sqlite3_stmt* statement, const json::object& values) {
  std::set<std::string> used;
  for (int i = 1; i <= sqlite3_bind_parameter_count(statement); ++i) {
    const char* written = sqlite3_bind_parameter_name(statement, i);
    if (written == nullptr || written[0] == '?')
      return fail(Reason::argument, "the query has a ?, and the parameters have names",
                  "give `params` as a list, or write :name");
    const std::string name = written + 1;
    const json::value* value = values.if_contains(name);
    if (value == nullptr)
      return fail(Reason::argument, "the parameter " + quoted(written) + " has no value",
                  "give it in `params`, by its name without the sign");
    if (!bind(statement, i, *value)) return bad_value(written);
    used.insert(name);
  }
  for (const auto& [name, value] : values)
    if (!used.contains(std::string(name)))
      return fail(Reason::argument, "the query has no parameter " + quoted(name),
                  "write :" + escape_for_terminal(name) + " where it goes, or leave it out");
  return {};
}

Result<void> bind_all(sqlite3_stmt* statement, const json::value& params) {
  if (const json::object* names = params.if_object()) return bind_names(statement, *names);
  if (const json::array* list = params.if_array()) return bind_list(statement, *list);
  return fail(Reason::argument, "`params` is neither a list nor an object");
}

// ---- The three actions

Result<json::object> query(const SqlOrder& order, SqlDatabase& database) {
  auto statement = compile(order, database);
  if (!statement) return std::unexpected(std::move(statement.error()));
  if (auto bound = bind_all(statement->get(), order.params); !bound)
    return std::unexpected(std::move(bound.error()));
  SqlAnswer answer(columns_of(statement->get()), order.format, order.max_answer);
  bool truncated = false;
  int status = SQLITE_ROW;
  while (!truncated && (status = sqlite3_step(statement->get())) == SQLITE_ROW)
    truncated = answer.count() >= order.rows || !answer.add(row_of(statement->get()));
  if (!truncated && status != SQLITE_DONE) return std::unexpected(explain(order, database));
  if (auto same = database.file().check_unchanged(); !same)
    return std::unexpected(std::move(same.error()));
  if (truncated && answer.count() == 0) return std::unexpected(first_row_too_large(order));
  auto taken = std::move(answer).take(truncated);
  if (!taken) return std::unexpected(answer_too_large());
  return std::move(*taken);
}

Result<json::object> describe_table(const SqlOrder& order, const SqlDatabase& database) {
  const auto table = std::ranges::find_if(database.tables(), [&](const SqlTable& each) {
    return folded(each.name) == folded(order.table);
  });
  if (table == database.tables().end())
    return std::unexpected(no_table(order.table, order, database));
  return table_answer(*table, order.max_answer);
}

}  // namespace

Result<json::object> do_sql_work(const SqlOrder& order) {
  auto database = SqlDatabase::open(order);
  if (!database) return std::unexpected(std::move(database.error()));
  switch (order.action) {
    case SqlAction::query:
      return query(order, *database);
    case SqlAction::list_tables:
      return tables_answer(database->tables(), database->missing(), order.max_answer);
    case SqlAction::describe_table:
      return describe_table(order, *database);
  }
  return fail(Reason::internal, "there is no such work");
}

}  // namespace sallyport
