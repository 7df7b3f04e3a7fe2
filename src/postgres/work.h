// The sql tool at work on a PostgreSQL server: run by our own program inside the cell, which has
// the connection and nothing else.
#pragma once

#include "base/fd.h"
#include "base/json.h"
#include "sql/order.h"

namespace sallyport {

// Does what the order says and answers as do_sql_work (sql/work.h) does. Refused: a role that may
// do more than the order allows.
[[nodiscard]] Result<json::object> do_postgres_work(const SqlOrder& order, Fd connection);

}  // namespace sallyport
