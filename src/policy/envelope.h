// The envelope: all that is in force for one tool and one caller. The strictest of ceiling, tenant,
// role, caller and tool; a call can only tighten it further.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "policy/rules.h"
#include "sallyport/call.h"

namespace sallyport {

// A rate and the counter that it is held to. Callers that share a key share the count.
struct RateRule {
  std::string key;   // "caller/agent_42", "tool/acme/python", "tenant/acme"
  std::string rule;  // "callers.agent_42.rate"
  CallRate rate;
};

// How many calls may be in flight at once.
struct ConcurrencyRule {
  std::string key;
  std::string rule;
  unsigned most = 0;
};

// What may be spent in one day (UTC).
struct BudgetRule {
  std::string key;
  std::string rule;
  DailyBudget budget;
};

struct Envelope {
  const Tool* tool = nullptr;  // these five belong to the Rules that it was made from
  const Caller* caller = nullptr;
  const Role* role = nullptr;
  const Tenant* tenant = nullptr;  // none: the file does not describe the caller's tenant
  const Ceiling* ceiling = nullptr;

  std::vector<std::string> missing;  // permissions that the tool needs and the caller lacks
  Limits limits;
  std::map<std::string, std::string> limit_rules;  // the rule that each limit comes from
  std::vector<RateRule> rates;
  std::vector<ConcurrencyRule> concurrency;
  std::optional<BudgetRule> budget;
  TableRules tables;
  std::string hash;  // of everything above and all of the tool's rules
};

// What the tool needs and a caller with this role (or none) lacks, sorted. `admin` implies all.
[[nodiscard]] std::vector<std::string> missing_permissions(const Tool& tool, const Role* role);

// `tool` and `caller` are of `rules`, or a tool that a host program registered.
[[nodiscard]] Envelope make_envelope(const Rules& rules, const Tool& tool, const Caller& caller);

// The envelope as one JSON object in a stable order; the hash is made from it.
[[nodiscard]] json::object to_json(const Envelope& envelope);

// The limits with those of one call. A name that is no limit, a bad unit and a value that is wider
// than what is in force are errors; the error's message names the rule.
[[nodiscard]] Result<Limits> tighten(const Envelope& envelope, const CallLimits& asked);

}  // namespace sallyport
