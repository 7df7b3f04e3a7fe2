#include "sql/database.h"

#include <algorithm>
#include <map>

#include "base/call_id.h"
#include "base/clock.h"
#include "base/text.h"

namespace sallyport {
namespace {

// What a model writes stays far below; what would take long to compile does not get in.
struct EngineLimit {
  int which;
  int most;
};
constexpr EngineLimit kLimits[] = {
    {SQLITE_LIMIT_SQL_LENGTH, 100'000},       {SQLITE_LIMIT_EXPR_DEPTH, 200},
    {SQLITE_LIMIT_COMPOUND_SELECT, 50},       {SQLITE_LIMIT_VDBE_OP, 250'000},
    {SQLITE_LIMIT_FUNCTION_ARG, 100},         {SQLITE_LIMIT_ATTACHED, 0},
    {SQLITE_LIMIT_VARIABLE_NUMBER, 200},      {SQLITE_LIMIT_TRIGGER_DEPTH, 1},
    {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000}, {SQLITE_LIMIT_WORKER_THREADS, 0},
};
constexpr int kLongestValue = 10'000'000;
constexpr int kStepsBetweenLooks = 1000;

struct Switch {
  int which;
  int value;
};
constexpr Switch kSwitches[] = {
    {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
    {SQLITE_DBCONFIG_DQS_DML, 0},
    {SQLITE_DBCONFIG_DQS_DDL, 0},
    {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
    {SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0},
    {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
    {SQLITE_DBCONFIG_WRITABLE_SCHEMA, 0},
};

// The kinds of virtual tables that may be there. dbstat, sqlite_stmt and the like tell of the
// database and not of what is in it.
const char* kModules[] = {"fts3", "fts4", "fts5", "rtree", "json_each", "json_tree", nullptr};

struct Finalize {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;

Statement prepare(sqlite3* handle, const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(handle, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) return nullptr;
  return Statement(statement);
}

std::string text_of(sqlite3_stmt* row, int column) {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(row, column));
  return text == nullptr
             ? std::string()
             : std::string(text, static_cast<std::size_t>(sqlite3_column_bytes(row, column)));
}

// What the order says of a table: none, if it is not allowed.
struct Listed {
  std::vector<std::string> columns;  // none: all
};
std::optional<Listed> find_rule(const SqlOrder& order, std::string_view table,
                                std::string_view type) {
  const std::string name = folded(table);
  // Two rules for one table, in another case: the narrower one would be hard to tell.
  std::optional<Listed> found;
  for (const auto& [each, columns] : order.tables) {
    if (folded(each) != name) continue;
    if (found) return std::nullopt;
    found = Listed{columns};
  }
  if (found || !order.all_tables || type == "shadow") return found;
  // A view that nobody listed could show the columns that are left out of a table.
  const bool narrowed =
      std::ranges::any_of(order.tables, [](const auto& listed) { return !listed.second.empty(); });
  if (type != "view" || !narrowed) found = Listed{};
  return found;
}

}  // namespace

SqlDatabase::SqlDatabase(DatabaseFile file)
    : file_(std::move(file)),
      schema_("s" + make_call_id()),
      guard_(std::make_unique<SqlGuard>(schema_)),
      deadline_(std::make_unique<Deadline>()) {}

bool SqlDatabase::is_late() const {
  return monotonic_ns() > deadline_->ns;
}

std::string SqlDatabase::message() const {
  std::string text = to_utf8(sqlite3_errmsg(handle()));
  for (std::size_t at = 0; (at = text.find(schema_)) != std::string::npos;)
    text.erase(at, schema_.size() + (text.substr(at + schema_.size()).starts_with('.') ? 1 : 0));
  return text;
}

std::optional<Error> SqlDatabase::engine_error() const {
  switch (sqlite3_extended_errcode(handle()) & 0xFF) {
    case SQLITE_INTERRUPT:
      return Error{Reason::timeout,
                   "the query took longer than the " + std::to_string(deadline_->milliseconds) +
                       " ms that it has",
                   "ask for less: a narrower WHERE, fewer joins, an end to the recursion"};
    case SQLITE_NOMEM:
      return Error{Reason::memory, "the query needs more memory than this tool has",
                   "ask for less: fewer rows to sort or group, smaller values"};
    case SQLITE_TOOBIG:
      return Error{Reason::argument, "a value or the statement itself is too large",
                   "a value may have 10 MB at most"};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Error{Reason::unavailable, "the database is being written", "try again"};
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
      return Error{Reason::unavailable,
                   "the database is being written, or was not closed properly, and repairing it "
                   "takes writing to it",
                   "try again; if that does not help, whoever keeps the database should open it "
                   "once with its own program"};
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_IOERR:
      return Error{Reason::unavailable, "the database is damaged: " + message(),
                   "whoever keeps the database should look at it"};
    default:
      return std::nullopt;
  }
}

Result<void> SqlDatabase::run(const std::string& statement) {
  if (sqlite3_exec(handle(), statement.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  if (auto error = engine_error()) return std::unexpected(std::move(*error));
  return fail(Reason::unavailable, "the database cannot be opened: " + message());
}

Result<void> SqlDatabase::configure(const SqlOrder& order) {
  sqlite3_hard_heap_limit64(static_cast<sqlite3_int64>(order.memory));
  sqlite3* opened = nullptr;
  const int status = sqlite3_open_v2(":memory:", &opened,
                                     SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI |
                                         SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE,
                                     nullptr);
  handle_.reset(opened);
  if (status != SQLITE_OK) return fail(Reason::memory, "SQLite cannot be started");
  for (const Switch& row : kSwitches)
    if (sqlite3_db_config(handle(), row.which, row.value, nullptr) != SQLITE_OK)
      return fail(Reason::cannot_enforce,
                  "SQLite does not have the switch " + std::to_string(row.which));
  sqlite3_limit(handle(), SQLITE_LIMIT_LENGTH, kLongestValue);
  sqlite3_busy_timeout(handle(),
                       static_cast<int>(std::min<std::uint64_t>(order.milliseconds / 2, 5000)));
  deadline_->milliseconds = order.milliseconds;
  deadline_->ns = monotonic_ns() + static_cast<std::int64_t>(
                                       std::min<std::uint64_t>(order.milliseconds, 86'400'000)) *
                                       1'000'000;
  sqlite3_progress_handler(
      handle(), kStepsBetweenLooks,
      [](void* deadline) {
        return monotonic_ns() > static_cast<const Deadline*>(deadline)->ns ? 1 : 0;
      },
      deadline_.get());
  // BEGIN: the schema and the rows are of one state of the database.
  return run("PRAGMA temp_store=MEMORY; PRAGMA mmap_size=0; PRAGMA cell_size_check=ON; ATTACH '" +
             file_.uri() + "' AS " + schema_ + "; BEGIN");
}

Result<std::vector<SqlColumn>> SqlDatabase::columns_of(const std::string& table) {
  std::vector<SqlColumn> columns;
  const Statement rows =
      prepare(handle(), "PRAGMA " + schema_ + ".table_xinfo(" + sql_name(table) + ")");
  if (!rows) return columns;  // a view of something that is no longer there
  int status = SQLITE_ROW;
  while ((status = sqlite3_step(rows.get())) == SQLITE_ROW) {
    constexpr int kHidden = 1;  // of a virtual table; 2 and 3 are generated
    if (sqlite3_column_int(rows.get(), 6) == kHidden) continue;
    columns.push_back({.name = text_of(rows.get(), 1),
                       .type = text_of(rows.get(), 2),
                       .required = sqlite3_column_int(rows.get(), 3) != 0,
                       .key = sqlite3_column_int(rows.get(), 5) != 0});
  }
  if (status != SQLITE_DONE)
    if (auto error = engine_error()) return std::unexpected(std::move(*error));
  return columns;
}

Result<void> SqlDatabase::find_tables(const SqlOrder& order) {
  struct Found {
    std::string name, type;
  };
  std::vector<Found> all;
  {
    const Statement rows = prepare(
        handle(), "SELECT name, type FROM pragma_table_list WHERE schema = '" + schema_ + "'");
    int status = SQLITE_ERROR;
    while (rows && (status = sqlite3_step(rows.get())) == SQLITE_ROW)
      all.push_back({text_of(rows.get(), 0), text_of(rows.get(), 1)});
    if (status != SQLITE_DONE) {
      if (auto error = engine_error()) return std::unexpected(std::move(*error));
      return fail(Reason::unavailable, "the schema of the database cannot be read: " + message());
    }
  }
  std::ranges::sort(all, {}, &Found::name);
  std::map<std::string, std::vector<std::string>> wanted;  // what is left is missing
  for (const auto& [name, columns] : order.tables)
    wanted[folded(name)] = {name};
  for (Found& found : all) {
    const std::string name = folded(found.name);
    if (name.starts_with("sqlite_")) continue;  // internal; queries cannot name it
    const auto rule = find_rule(order, found.name, found.type);
    if (!rule) {
      hidden_.push_back(std::move(found.name));
      continue;
    }
    wanted.erase(name);
    auto columns = columns_of(found.name);
    if (!columns) return std::unexpected(std::move(columns.error()));
    if (!rule->columns.empty()) {
      std::vector<SqlColumn> kept;
      for (const std::string& column : rule->columns) {
        const auto there = std::ranges::find_if(
            *columns, [&](const SqlColumn& each) { return folded(each.name) == folded(column); });
        const bool twice = there != columns->end() &&
                           std::ranges::find(kept, there->name, &SqlColumn::name) != kept.end();
        if (twice) continue;
        if (there != columns->end())
          kept.push_back(*there);
        else
          missing_.push_back(found.name + "." + column);
      }
      *columns = std::move(kept);
    }
    // A view without columns cannot be made: nothing of it can be read.
    if (columns->empty()) {
      hidden_.push_back(std::move(found.name));
      continue;
    }
    if (found.type == "virtual") virtual_.push_back(found.name);
    tables_.push_back({.name = std::move(found.name),
                       .view = found.type == "view",
                       .columns = std::move(*columns)});
  }
  for (const auto& [name, written] : wanted)
    missing_.push_back(written.front());
  std::ranges::sort(missing_);
  return {};
}

Result<void> SqlDatabase::make_views() {
  for (const std::string& name : hidden_) {
    // The database in memory has no tables: it answers as for a table that is nowhere.
    if (auto done =
            run("CREATE TEMP VIEW " + sql_name(name) + " AS SELECT * FROM main." + sql_name(name));
        !done)
      return done;
  }
  for (const SqlTable& table : tables_) {
    std::string columns;
    for (const SqlColumn& column : table.columns)
      columns.append(columns.empty() ? "" : ", ").append(sql_name(column.name));
    // LIMIT keeps a condition of the query from being put before the view's own: a function in it
    // that fails would tell of rows that the view leaves out.
    if (auto done =
            run("CREATE TEMP VIEW " + sql_name(table.name) + " AS SELECT " + columns + " FROM " +
                schema_ + "." + sql_name(table.name) + (table.view ? " LIMIT -1" : ""));
        !done)
      return done;
  }
  return {};
}

Result<void> SqlDatabase::lock_down() {
  // Only now: in this mode no view may have the name of a part of a virtual table.
  if (sqlite3_db_config(handle(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr) != SQLITE_OK)
    return fail(Reason::cannot_enforce, "SQLite does not have a defensive mode");
  sqlite3_drop_modules(handle(), kModules);
  // Tables of functions are made when they are first named, by statements of SQLite's own.
  for (const char* name : {"json_each", "json_tree"})
    (void)prepare(handle(), std::string("SELECT 1 FROM ") + name + "('[]')");
  sqlite3_set_authorizer(handle(), SqlGuard::ask, guard_.get());
  guard_->record();
  for (const SqlTable& table : tables_) {
    // One that cannot be read is refused with SQLite's own words when a query names it.
    (void)prepare(handle(), "SELECT * FROM temp." + sql_name(table.name));
    guard_->allow(table);
  }
  for (const std::string& name : virtual_)
    guard_->allow_parts_of(name);
  auto done = run("PRAGMA query_only=ON");
  guard_->enforce();
  for (const EngineLimit& limit : kLimits)
    sqlite3_limit(handle(), limit.which, limit.most);
  return done;
}

Result<SqlDatabase> SqlDatabase::open(const SqlOrder& order) {
  auto file = DatabaseFile::find(order.database);
  if (!file) return std::unexpected(std::move(file.error()));
  SqlDatabase database(std::move(*file));
  if (auto done = database.configure(order); !done) return std::unexpected(std::move(done.error()));
  if (auto done = database.find_tables(order); !done)
    return std::unexpected(std::move(done.error()));
  if (auto done = database.make_views(); !done) return std::unexpected(std::move(done.error()));
  if (auto done = database.lock_down(); !done) return std::unexpected(std::move(done.error()));
  return database;
}

}  // namespace sallyport
