#include "postgres/rights.h"

#include <algorithm>

namespace sallyport {
namespace {

constexpr std::string_view kReadable = R"(
SELECT n.nspname, c.relname, c.relkind IN ('v', 'm'),
       pg_catalog.has_table_privilege($1::name, c.oid, 'SELECT'), a.attname,
       pg_catalog.format_type(a.atttypid, a.atttypmod), a.attnotnull,
       EXISTS (SELECT 1 FROM pg_catalog.pg_index i
               WHERE i.indrelid = c.oid AND i.indisprimary AND a.attnum = ANY (i.indkey))
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relkind IN ('r', 'v', 'm', 'f', 'p')
  AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
  AND n.nspname NOT LIKE 'pg\_temp\_%' AND n.nspname NOT LIKE 'pg\_toast\_temp\_%'
  AND pg_catalog.has_schema_privilege($1::name, n.oid, 'USAGE')
  AND pg_catalog.has_column_privilege($1::name, c.oid, a.attnum, 'SELECT')
ORDER BY 1, 2, a.attnum)";

// Each row is a sentence that begins with the role. Functions that run as their owner count too: a
// role that may call one may do what the owner wrote into it, in whatever schema it is: an operator
// may lead to it. Those of triggers cannot be called.
constexpr std::string_view kMore = R"(
WITH o AS (SELECT n.oid, n.nspname FROM pg_catalog.pg_namespace n
           WHERE n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
             AND n.nspname NOT LIKE 'pg\_temp\_%' AND n.nspname NOT LIKE 'pg\_toast\_temp\_%')
SELECT 'has the attribute ' || t.attribute
FROM pg_catalog.pg_roles r,
     LATERAL (VALUES ('SUPERUSER', r.rolsuper), ('CREATEROLE', r.rolcreaterole),
                     ('CREATEDB', r.rolcreatedb), ('REPLICATION', r.rolreplication),
                     ('BYPASSRLS', r.rolbypassrls)) AS t(attribute, has)
WHERE r.rolname = $1::name AND t.has
UNION ALL
SELECT 'is a member of ' || g.rolname
FROM pg_catalog.pg_auth_members m
JOIN pg_catalog.pg_roles r ON r.oid = m.member AND r.rolname = $1::name
JOIN pg_catalog.pg_roles g ON g.oid = m.roleid
UNION ALL
SELECT 'may change ' || o.nspname || '.' || c.relname
FROM pg_catalog.pg_class c JOIN o ON o.oid = c.relnamespace
WHERE pg_catalog.has_schema_privilege($1::name, o.oid, 'USAGE')
  AND CASE WHEN c.relkind = 'S'
           THEN pg_catalog.has_sequence_privilege($1::name, c.oid, 'USAGE, UPDATE, SELECT')
           WHEN c.relkind IN ('r', 'v', 'm', 'f', 'p')
           THEN pg_catalog.has_table_privilege($1::name, c.oid,
                    'INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
             OR pg_catalog.has_any_column_privilege($1::name, c.oid, 'INSERT, UPDATE, REFERENCES')
           ELSE false END
UNION ALL
SELECT 'may make things in the schema ' || o.nspname
FROM o WHERE pg_catalog.has_schema_privilege($1::name, o.oid, 'CREATE')
UNION ALL
SELECT 'may make schemas in the database'
WHERE pg_catalog.has_database_privilege($1::name, pg_catalog.current_database(), 'CREATE')
UNION ALL
SELECT 'may call ' || o.nspname || '.' || p.proname || ', which runs with the rights of '
       || pg_catalog.pg_get_userbyid(p.proowner)
FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace o ON o.oid = p.pronamespace
JOIN pg_catalog.pg_type t ON t.oid = p.prorettype
WHERE p.prosecdef AND p.oid >= 16384 AND t.typname NOT IN ('trigger', 'event_trigger')
  AND pg_catalog.has_function_privilege($1::name, p.oid, 'EXECUTE'))";

Error failed(const PgProblem& problem) {
  return {Reason::unavailable, "the rights of the role cannot be read: " + problem.message, {}};
}

// "public.orders" is `orders` to everybody.
std::string short_name(const std::string& name) {
  constexpr std::string_view kPublic = "public.";
  return name.starts_with(kPublic) ? name.substr(kPublic.size()) : name;
}

std::string full_name(const std::string& schema, const std::string& table) {
  return folded(schema) + "." + folded(table);
}

}  // namespace

Result<PgRights> read_rights(PgConnection& connection, const std::string& role) {
  const PgValue params[] = {role};
  const auto readable = connection.query(kReadable, params);
  if (!readable) return std::unexpected(failed(readable.error()));
  const auto more = connection.query(kMore, params);
  if (!more) return std::unexpected(failed(more.error()));
  PgRights rights;
  for (std::size_t i = 0; i < readable->rows.size(); ++i) {
    const auto text = [&](std::size_t column) { return readable->text(i, column); };
    if (rights.tables.empty() || rights.tables.back().schema != text(0) ||
        rights.tables.back().name != text(1))
      rights.tables.push_back({.schema = text(0),
                               .name = text(1),
                               .view = text(2) == "t",
                               .whole = text(3) == "t",
                               .columns = {}});
    rights.tables.back().columns.push_back(
        {.name = text(4), .type = text(5), .required = text(6) == "t", .key = text(7) == "t"});
  }
  for (std::size_t i = 0; i < more->rows.size(); ++i)
    rights.more.push_back(more->text(i, 0));
  return rights;
}

PgAllowed::PgAllowed(const SqlOrder& order) : all_tables_(order.all_tables) {
  for (const auto& [name, columns] : order.tables) {
    const std::string small = folded(name);
    listed_[small.contains('.') ? small : "public." + small] = columns;
  }
}

const std::vector<std::string>* PgAllowed::columns(const std::string& schema,
                                                   const std::string& table) const {
  static const std::vector<std::string> kAll;
  if (const auto found = listed_.find(full_name(schema, table)); found != listed_.end())
    return &found->second;
  return all_tables_ && schema == "public" ? &kAll : nullptr;
}

bool PgAllowed::allows(const std::string& schema, const std::string& table,
                       const std::string& column) const {
  const auto* list = columns(schema, table);
  if (list == nullptr || list->empty()) return list != nullptr;
  return std::ranges::any_of(
      *list, [&](const std::string& each) { return folded(each) == folded(column); });
}

std::vector<std::string> excess(const PgRights& rights, const PgAllowed& allowed) {
  std::vector<std::string> list = rights.more;
  for (const PgTable& table : rights.tables)
    for (const SqlColumn& column : table.columns)
      if (!allowed.allows(table.schema, table.name, column.name))
        list.push_back("may read " + table.schema + "." + table.name + "." + column.name);
  return list;
}

std::vector<std::string> missing(const PgRights& rights, const PgAllowed& allowed) {
  std::vector<std::string> list;
  for (const auto& [name, columns] : allowed.listed()) {
    const auto table = std::ranges::find_if(rights.tables, [&](const PgTable& each) {
      return full_name(each.schema, each.name) == name;
    });
    if (table == rights.tables.end()) {
      list.push_back(short_name(name));
      continue;
    }
    for (const std::string& column : columns)
      if (std::ranges::none_of(table->columns, [&](const SqlColumn& each) {
            return folded(each.name) == folded(column);
          }))
        list.push_back(short_name(name) + "." + column);
  }
  return list;
}

}  // namespace sallyport
