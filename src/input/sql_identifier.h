// The name of a table or column that a caller may choose.
#pragma once

#include <compare>
#include <string>
#include <string_view>

#include "sallyport/error.h"

namespace sallyport {

struct SqlIdentifierRules {
  bool qualified = false;  // "schema.name" is allowed too
};

// [A-Za-z_][A-Za-z0-9_]{0,62}, once or twice. Reserved words are names like others: what goes into
// a statement is sql_quoted().
class SqlIdentifier {
 public:
  [[nodiscard]] static Result<SqlIdentifier> parse(std::string_view text,
                                                   const SqlIdentifierRules& rules = {});

  [[nodiscard]] const std::string& schema() const { return schema_; }  // empty without one
  [[nodiscard]] const std::string& name() const { return name_; }

  // "name" or "schema.name", as it was written.
  [[nodiscard]] std::string to_text() const;

  // In double quotes, as standard SQL has it: never a keyword, never folded to another case.
  [[nodiscard]] std::string sql_quoted() const;

  auto operator<=>(const SqlIdentifier&) const = default;

 private:
  std::string schema_;
  std::string name_;
};

}  // namespace sallyport
