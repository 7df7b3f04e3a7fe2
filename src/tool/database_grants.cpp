#include "tool/database_grants.h"

#include "sql/order.h"

namespace sallyport {

namespace {

constexpr std::string_view kFile = "sqlite:";

bool is_sql(const Tool& tool) {
  return tool.kind == ToolKind::builtin && tool.builtin == Builtin::sql;
}

}  // namespace

bool asks_server(const Tool& tool) {
  return is_sql(tool) && !tool.database.starts_with(kFile);
}

std::vector<Grant> database_grants(const Tool& tool) {
  if (!is_sql(tool) || asks_server(tool)) return {};
  const std::string host = tool.database.substr(kFile.size());
  const std::string inside(kDatabaseInside);
  std::vector<Grant> grants = {{.host = host, .inside = inside}};
  for (const std::string_view end : kDatabaseBeside)
    grants.push_back({.host = host + std::string(end),
                      .inside = inside + std::string(end),
                      .write = false,
                      .optional = true});
  return grants;
}

}  // namespace sallyport
