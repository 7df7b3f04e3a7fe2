#include "postgres/prepare.h"

#include <sys/random.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "credential/scram.h"

namespace sallyport {
namespace {

// By which a role is known as one of ours.
constexpr std::string_view kMark = "made by sallyport sql prepare";
constexpr int kMostConnections = 16;

constexpr std::string_view kRelations = R"(
SELECT n.nspname, c.relname, a.attname
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relkind IN ('r', 'v', 'm', 'f', 'p')
  AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
  AND n.nspname NOT LIKE 'pg\_temp\_%' AND n.nspname NOT LIKE 'pg\_toast\_temp\_%'
ORDER BY 1, 2, a.attnum)";

std::unexpected<Error> failed(const std::string& what, const PgProblem& problem) {
  return fail(Reason::unavailable, what + ": " + problem.message, problem.hint);
}

std::string literal(std::string_view text) {
  std::string quotes = "'";
  for (const char c : text)
    quotes.append(c == '\'' ? 2 : 1, c);
  return quotes + "'";
}

class Preparation {
 public:
  Preparation(PgConnection& administrator, const RoleWish& wish)
      : administrator_(administrator), wish_(wish), role_(sql_name(wish.role)) {}

  Result<PreparedRole> run() {
    if (auto done = say("BEGIN"); !done) return std::unexpected(std::move(done.error()));
    auto prepared = prepare();
    if (auto done = say(prepared ? "COMMIT" : "ROLLBACK"); !done && prepared)
      return std::unexpected(std::move(done.error()));
    return prepared;
  }

 private:
  Result<PreparedRole> prepare() {
    for (const auto step : {&Preparation::make_role, &Preparation::set_role,
                            &Preparation::take_everything, &Preparation::grant})
      if (auto done = (this->*step)(); !done) return std::unexpected(std::move(done.error()));
    return check_role(administrator_, wish_);
  }

  Result<void> say(const std::string& statement) {
    if (auto done = administrator_.query(statement); !done)
      return failed("the role " + quoted(wish_.role) + " cannot be made", done.error());
    return {};
  }

  Result<PgRows> ask(std::string_view statement, std::span<const PgValue> params = {}) {
    auto rows = administrator_.query(statement, params);
    if (!rows) return failed("the database cannot be looked at", rows.error());
    return std::move(*rows);
  }

  Result<void> make_role() {
    const PgValue params[] = {wish_.role};
    const auto known =
        ask("SELECT pg_catalog.shobj_description(oid, 'pg_authid') FROM pg_catalog.pg_roles WHERE "
            "rolname = $1",
            params);
    if (!known) return std::unexpected(known.error());
    if (known->rows.empty()) {
      if (auto made = say("CREATE ROLE " + role_); !made) return made;
      return say("COMMENT ON ROLE " + role_ + " IS " + literal(kMark));
    }
    if (known->text(0, 0) == kMark) return {};
    return fail(Reason::unavailable,
                "there is a role " + quoted(wish_.role) + " that was not made by this command",
                "name another one in the address, as postgres://ROLE@HOST/DATABASE");
  }

  Result<void> set_role() {
    char salt[16];
    if (::getrandom(salt, sizeof(salt), 0) != sizeof(salt))
      return fail(Reason::unavailable, "the kernel gives no random bytes");
    if (auto set = say("ALTER ROLE " + role_ + " LOGIN CONNECTION LIMIT " +
                       std::to_string(kMostConnections) + " PASSWORD " +
                       literal(scram_verifier(wish_.password, {salt, sizeof(salt)})));
        !set)
      return set;
    return say("ALTER ROLE " + role_ + " SET default_transaction_read_only TO on");
  }

  // What it had under another policy.
  Result<void> take_everything() {
    const auto relations = ask(kRelations);
    if (!relations) return std::unexpected(relations.error());
    relations_ = *relations;
    std::set<std::string> schemas;
    for (std::size_t i = 0; i < relations_.rows.size(); ++i)
      schemas.insert(relations_.text(i, 0));
    for (const std::string& schema : schemas) {
      const std::string name = sql_name(schema);
      if (auto done = say("REVOKE ALL ON ALL TABLES IN SCHEMA " + name + " FROM " + role_); !done)
        return done;
      if (auto done = say("REVOKE ALL ON SCHEMA " + name + " FROM " + role_); !done) return done;
    }
    return {};
  }

  Result<void> grant() {
    const PgAllowed allowed(wish_.allowed);
    std::map<std::pair<std::string, std::string>, std::vector<std::string>> readable;
    for (std::size_t i = 0; i < relations_.rows.size(); ++i) {
      const std::string schema = relations_.text(i, 0), table = relations_.text(i, 1),
                        column = relations_.text(i, 2);
      if (allowed.allows(schema, table, column)) readable[{schema, table}].push_back(column);
    }
    std::set<std::string> names;
    for (const auto& [place, columns] : readable) {
      const auto& [schema, table] = place;
      if (!names.insert(folded(schema) + "." + folded(table)).second)
        return fail(Reason::unavailable,
                    "there are two tables " + quoted(schema + "." + table) +
                        " that differ in capital letters only",
                    "a policy cannot tell them apart");
      const bool whole = allowed.columns(schema, table)->empty();
      std::string list;
      std::set<std::string> folded_columns;
      for (const std::string& column : columns) {
        list += (list.empty() ? "" : ", ") + sql_name(column);
        if (!whole && !folded_columns.insert(folded(column)).second)
          return fail(Reason::unavailable,
                      "the table " + quoted(schema + "." + table) + " has two columns " +
                          quoted(column) + " that differ in capital letters only",
                      "a policy cannot tell them apart");
      }
      if (auto done = say("GRANT USAGE ON SCHEMA " + sql_name(schema) + " TO " + role_); !done)
        return done;
      if (auto done = say("GRANT SELECT " + (whole ? "" : "(" + list + ") ") + "ON " +
                          sql_name(schema) + "." + sql_name(table) + " TO " + role_);
          !done)
        return done;
    }
    const auto database = ask("SELECT pg_catalog.current_database()");
    if (!database) return std::unexpected(database.error());
    return say("GRANT CONNECT ON DATABASE " + sql_name(database->text(0, 0)) + " TO " + role_);
  }

  PgConnection& administrator_;
  const RoleWish& wish_;
  std::string role_;  // as a statement has it
  PgRows relations_;
};

}  // namespace

Result<PreparedRole> prepare_role(PgConnection& administrator, const RoleWish& wish) {
  return Preparation(administrator, wish).run();
}

Result<PreparedRole> check_role(PgConnection& connection, const RoleWish& wish) {
  auto rights = read_rights(connection, wish.role);
  if (!rights) return std::unexpected(std::move(rights.error()));
  const PgAllowed allowed(wish.allowed);
  if (const auto more = excess(*rights, allowed); !more.empty()) {
    std::string list;
    for (const std::string& each : more)
      list += "\n  it " + escape_for_terminal(each);
    return fail(Reason::cannot_enforce,
                "the role " + quoted(wish.role) + " can do more than the policy allows:" + list,
                "what everybody may do is taken away with REVOKE … FROM PUBLIC");
  }
  auto not_there = missing(*rights, allowed);
  return PreparedRole{.rights = std::move(*rights), .missing = std::move(not_there)};
}

}  // namespace sallyport
