#include "sql/guard.h"

#include <sqlite3.h>

#include <algorithm>

#include "sql/functions.h"

namespace sallyport {
namespace {

// Functions that stand where a table does.
bool is_table_function(std::string_view name) {
  return name == "json_each" || name == "json_tree";
}

std::string_view text(const char* value) {
  return value == nullptr ? std::string_view() : std::string_view(value);
}

}  // namespace

void SqlGuard::allow(const SqlTable& table) {
  std::set<std::string>& columns = listed_[folded(table.name)];
  for (const SqlColumn& column : table.columns)
    columns.insert(folded(column.name));
}

void SqlGuard::allow_parts_of(std::string_view virtual_table) {
  prefixes_.insert(folded(virtual_table) + "_");
}

bool SqlGuard::may_read(std::string_view table, std::string_view column, const char* schema) const {
  const std::string name = folded(table), part = folded(column);
  const auto has = [&](const auto& tables) {
    const auto found = tables.find(name);
    return found != tables.end() && (part.empty() || found->second.contains(part));
  };
  // Read without a column, by a name without a schema: a name of WITH, or a table of ours. One that
  // is not allowed has been refused as missing before it comes to this.
  if (schema == nullptr) return part.empty() && !name.starts_with("pragma_");
  if (schema_ == schema)
    return has(noted_) || std::ranges::any_of(prefixes_, [&](const std::string& prefix) {
             return name.starts_with(prefix);
           });
  if (text(schema) == "temp") return has(listed_);
  return text(schema) == "main" && is_table_function(name);
}

int SqlGuard::decide(int action, std::string_view first, std::string_view second,
                     const char* schema) {
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_RECURSIVE:
      return SQLITE_OK;
    case SQLITE_READ:
      return may_read(first, second, schema) ? SQLITE_OK : SQLITE_DENY;
    case SQLITE_FUNCTION:
      return is_allowed_function(second) ? SQLITE_OK : SQLITE_DENY;
    case SQLITE_PRAGMA:
      // Full-text search asks whether its tables have changed.
      return first == "data_version" && second.empty() && text(schema) == schema_ ? SQLITE_OK
                                                                                  : SQLITE_DENY;
    default:
      return SQLITE_DENY;
  }
}

int SqlGuard::ask(void* guard, int action, const char* first, const char* second,
                  const char* schema, const char* /*within: it can be forged*/) noexcept {
  auto& self = *static_cast<SqlGuard*>(guard);
  try {
    if (self.recording_) {
      if (action == SQLITE_READ && (schema == nullptr || self.schema_ == schema))
        self.noted_[folded(text(first))].insert(folded(text(second)));
      return SQLITE_OK;
    }
    const int verdict = self.decide(action, text(first), text(second), schema);
    if (verdict != SQLITE_OK && !self.refused_) {
      // The name of what a function or a column belongs to says nothing to a caller.
      const bool second_counts = action == SQLITE_FUNCTION;
      self.refused_ = {action, std::string(text(second_counts ? second : first))};
    }
    return verdict;
  } catch (...) {
    return SQLITE_DENY;
  }
}

}  // namespace sallyport
