// From a call of the sql tool to the order for it.
#pragma once

#include "input/postgres_address.h"
#include "policy/envelope.h"
#include "sql/order.h"
#include "tool/cell_call.h"

namespace sallyport {

[[nodiscard]] Result<SqlOrder> make_sql_order(const ToolCall& call);

// What a caller may read with the tool: that of the tool and of the caller's role, narrowed.
void allow_tables(const Envelope& envelope, SqlOrder& order);

// The role at a database server that is held to the same.
[[nodiscard]] std::string server_role(const PostgresAddress& address, const Tool& tool,
                                      const Envelope& envelope);

}  // namespace sallyport
