// What a role may do in a database, as the server itself says.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "postgres/connection.h"
#include "sql/allowed_tables.h"
#include "sql/order.h"

namespace sallyport {

struct PgTable {
  std::string schema, name;
  bool view = false;
  bool whole = false;              // all of its columns may be read
  std::vector<SqlColumn> columns;  // those that the role may read
};

struct PgRights {
  std::vector<PgTable> tables;
  std::vector<std::string> more;  // sentences: what a role that only reads cannot do, and this can
};

[[nodiscard]] Result<PgRights> read_rights(PgConnection& connection, const std::string& role);

// What a policy allows, by the names of the server. Capital letters make no other name; a name
// without a schema is one of `public`, and "*" stands for the tables there.
class PgAllowed {
 public:
  explicit PgAllowed(const SqlOrder& order);

  // Null: nothing of it. Empty: all columns.
  [[nodiscard]] const std::vector<std::string>* columns(const std::string& schema,
                                                        const std::string& table) const;
  [[nodiscard]] bool allows(const std::string& schema, const std::string& table,
                            const std::string& column) const;
  [[nodiscard]] const std::map<std::string, std::vector<std::string>>& listed() const {
    return listed_;
  }

 private:
  bool all_tables_;
  std::map<std::string, std::vector<std::string>> listed_;  // by "schema.table", in small letters
};

// Everything that the role may do and the policy does not allow; empty when it is held to it.
[[nodiscard]] std::vector<std::string> excess(const PgRights& rights, const PgAllowed& allowed);

// What the policy lists and the role cannot read.
[[nodiscard]] std::vector<std::string> missing(const PgRights& rights, const PgAllowed& allowed);

}  // namespace sallyport
