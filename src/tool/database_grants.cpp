#include "tool/database_grants.h"

#include "sql/order.h"

namespace sallyport {

std::vector<Grant> database_grants(const Tool& tool) {
  constexpr std::string_view kFile = "sqlite:";
  if (tool.kind != ToolKind::builtin || tool.builtin != Builtin::sql ||
      !tool.database.starts_with(kFile))
    return {};
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
