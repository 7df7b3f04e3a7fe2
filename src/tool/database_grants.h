// The files of a database in the cell of the sql tool.
#pragma once

#include <vector>

#include "cell/spec.h"
#include "policy/rules.h"

namespace sallyport {

// Whether the tool asks a server, over a connection that its cell is given.
[[nodiscard]] bool asks_server(const Tool& tool);

// The database and what SQLite keeps beside it (log and journal), all of them read-only, those
// beside it only if they are there. Empty for every tool that does not read a file by SQL.
[[nodiscard]] std::vector<Grant> database_grants(const Tool& tool);

}  // namespace sallyport
