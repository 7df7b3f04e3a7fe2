// The answers of list_tables and describe_table.
#pragma once

#include <span>
#include <string>

#include "base/json.h"
#include "sql/allowed_tables.h"

namespace sallyport {

// tables [{name, kind, columns}], missing [what the policy lists and is not there], truncated.
[[nodiscard]] Result<json::object> tables_answer(std::span<const SqlTable> tables,
                                                 std::span<const std::string> missing,
                                                 std::uint64_t max_answer);

// table, kind, columns [{name, type, required, key}].
[[nodiscard]] Result<json::object> table_answer(const SqlTable& table, std::uint64_t max_answer);

}  // namespace sallyport
