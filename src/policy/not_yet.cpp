#include "policy/not_yet.h"

namespace sallyport {
namespace {

constexpr NotYet kNotYet[] = {
    {"mcp", "MCP servers as tools", [](const Tool& tool) { return tool.kind == ToolKind::mcp; }},
    {"tier", "this tier",
     [](const Tool& tool) {
       return tool.tier == Tier::wasm || tool.tier == Tier::container || tool.tier == Tier::vm;
     }},
    {"dangerously_share_network", "the network of this machine",
     [](const Tool& tool) { return tool.share_network; }},
};

}  // namespace

std::span<const NotYet> not_yet() {
  return kNotYet;
}

std::vector<std::string_view> lacks(const Tool& tool) {
  std::vector<std::string_view> list;
  for (const NotYet& row : kNotYet)
    if (row.asked(tool)) list.push_back(row.what);
  if (tool.approval ? !tool.approval->when : tool.irreversible) list.emplace_back("approval");
  return list;
}

}  // namespace sallyport
