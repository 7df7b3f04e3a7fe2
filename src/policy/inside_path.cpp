#include "policy/inside_path.h"

namespace sallyport {

std::optional<std::string> inside_path(const FileRules& files, std::string_view host) {
  const FileRule* found = nullptr;
  std::string_view rest;
  for (const auto* rules : {&files.read, &files.write})
    for (const FileRule& rule : *rules) {
      // By whole components: /srv-secret is not below /srv.
      const std::string_view above = rule.host == "/" ? "" : std::string_view(rule.host);
      if (!host.starts_with(above)) continue;
      const std::string_view below = host.substr(above.size());
      if (!below.empty() && below[0] != '/') continue;
      if (found != nullptr && found->host.size() >= rule.host.size()) continue;
      found = &rule;
      rest = below == "/" ? "" : below;
    }
  if (found == nullptr) return std::nullopt;
  return found->inside + std::string(rest);
}

}  // namespace sallyport
