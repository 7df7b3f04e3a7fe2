#include "launch/expected_classes.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "cell/late.h"
#include "launch/wire.h"
#include "policy/envelope.h"
#include "policy/network_access.h"
#include "tool/cell_call.h"

namespace sallyport {
namespace {

constexpr std::size_t kMostExpected = 64;

bool has_own_limits(const Caller& caller) {
#define SALLYPORT_IS_OWN(limit, type, sentence) \
  if (caller.limits.limit) return true;
  SALLYPORT_LIMITS(SALLYPORT_IS_OWN)
#undef SALLYPORT_IS_OWN
  return false;
}

// One caller of all that have the same cells.
std::vector<const Caller*> kinds_of_callers(const Rules& rules) {
  std::set<std::tuple<std::string, std::string>> seen;
  std::vector<const Caller*> kinds;
  for (const auto& [name, caller] : rules.callers)
    if (has_own_limits(caller) || seen.emplace(caller.tenant, caller.role).second)
      kinds.push_back(&caller);
  return kinds;
}

}  // namespace

std::vector<std::string> expected_classes(const Rules& rules, const std::string& program) {
  std::vector<std::string> classes;
  if (rules.pool.min == 0 || rules.pool.max == 0) return classes;
  for (const Caller* caller : kinds_of_callers(rules))
    for (const auto& [name, tool] : rules.tools) {
      if (!network_access(rules.ceiling, tool).allow.empty()) continue;
      const Envelope envelope = make_envelope(rules, tool, *caller);
      if (!envelope.missing.empty()) continue;
      const auto spec = make_likely_spec(tool, envelope.limits, program);
      if (!spec || !may_be_parked(*spec)) continue;
      auto bytes = encode(Claim{.tenant = caller->tenant, .spec = class_of(*spec)});
      if (!bytes || std::ranges::find(classes, *bytes) != classes.end()) continue;
      classes.push_back(std::move(*bytes));
      if (classes.size() == kMostExpected) return classes;
    }
  return classes;
}

}  // namespace sallyport
