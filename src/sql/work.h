// The sql tool at work: run by our own program inside the cell, where nothing but the database is
// mounted, read-only.
#pragma once

#include "base/json.h"
#include "sql/order.h"

namespace sallyport {

// Does what the order says and answers with one object, never longer than max_answer as JSON:
//
//   query           columns [{name, type, declared}], row_count, truncated, and by format
//                   rows [[…]], objects [{…}] or csv
//   list_tables     tables [{name, kind, columns}], missing [what the policy lists and is not
//                   there], truncated
//   describe_table  table, kind, columns [{name, type, required, key}]
//
// An error is a sentence for a model: what was refused, by which rule, and what is allowed. A table
// or column that is not allowed and one that does not exist answer the same.
[[nodiscard]] Result<json::object> do_sql_work(const SqlOrder& order);

}  // namespace sallyport
