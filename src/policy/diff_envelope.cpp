// What one caller can spend, before and after.
#include <algorithm>

#include "policy/changes.h"
#include "policy/limit_value.h"
#include "policy/words.h"

namespace sallyport {
namespace {

template <class Value>
std::optional<Value> bound(const Value& value) {
  return value;
}
std::optional<Rate> bound(const std::optional<Rate>& value) {
  return value;
}

// Whose calls a rate counts. What a role allows each of its callers, it allows this caller.
std::string_view scope_of(const std::string& key) {
  if (key.starts_with("tool/")) return "the tool";
  if (key.starts_with("tenant/")) return "the tenant";
  return "the caller";
}

// The most calls within `window` that a rate lets through.
std::uint64_t most_within(CallRate rate, Duration window) {
  if (rate.window <= Duration::zero()) return std::numeric_limits<std::uint64_t>::max();
  return rate.count * static_cast<std::uint64_t>((window.count() - 1) / rate.window.count() + 1);
}

// Whether everything that `rates` let through keeps to `held`.
bool implied(const RateRule& held, const std::vector<RateRule>& rates) {
  return std::ranges::any_of(rates, [&](const RateRule& rule) {
    return scope_of(rule.key) == scope_of(held.key) &&
           most_within(rule.rate, held.rate.window) <= held.rate.count;
  });
}

std::string rates_text(const std::vector<RateRule>& rates, std::string_view scope) {
  std::vector<CallRate> found;
  for (const RateRule& rule : rates)
    if (scope_of(rule.key) == scope) found.push_back(rule.rate);
  std::ranges::sort(found, {}, [](CallRate rate) { return std::pair(rate.window, rate.count); });
  if (found.empty()) return "unlimited";
  return list_names(each_text(found, [](CallRate rate) { return to_text(rate); }));
}

void compare_rates(ChangeList& changes, const Envelope& before, const Envelope& after) {
  for (const std::string_view scope : {"the caller", "the tool", "the tenant"}) {
    const auto loosened = [scope](const std::vector<RateRule>& from,
                                  const std::vector<RateRule>& to) {
      return std::ranges::any_of(from, [&](const RateRule& rule) {
        return scope_of(rule.key) == scope && !implied(rule, to);
      });
    };
    changes.ordered(loosened(before.rates, after.rates), loosened(after.rates, before.rates),
                    "rate of " + std::string(scope) + " " + rates_text(before.rates, scope) +
                        " → " + rates_text(after.rates, scope));
  }
}

void compare_concurrency(ChangeList& changes, const Envelope& before, const Envelope& after) {
  for (const std::string_view scope : {"the caller", "the tool", "the tenant"}) {
    const auto most = [scope](const Envelope& envelope) {
      std::optional<unsigned> least;
      for (const ConcurrencyRule& rule : envelope.concurrency)
        if (scope_of(rule.key) == scope) least = std::min(least.value_or(rule.most), rule.most);
      return least;
    };
    compare_bounds(changes, most(before), most(after), "calls at once of " + std::string(scope),
                   [](unsigned value) { return std::to_string(value); });
  }
}

void compare_budgets(ChangeList& changes, const Envelope& before, const Envelope& after) {
  const DailyBudget a = before.budget ? before.budget->budget : DailyBudget{};
  const DailyBudget b = after.budget ? after.budget->budget : DailyBudget{};
  const auto shown = [](auto value) { return to_text(value) + "/day"; };
  compare_bounds(changes, a.cpu, b.cpu, "CPU budget of the tenant", shown);
  compare_bounds(changes, a.egress, b.egress, "egress budget of the tenant", shown);
  compare_bounds(changes, a.calls, b.calls, "call budget of the tenant",
                 [](std::uint64_t value) { return std::to_string(value) + "/day"; });
}

using Columns = std::optional<std::vector<std::string>>;

// None: the table is not allowed. Empty: all columns.
Columns columns_of(const TableRules& rules, const std::string& table) {
  const auto found = rules.tables.find(table);
  if (found != rules.tables.end()) return found->second;
  return rules.all_tables ? Columns(std::in_place) : std::nullopt;
}

bool has_more(const Columns& before, const Columns& after) {
  if (!after || (before && before->empty())) return false;
  if (!before || after->empty()) return true;
  return std::ranges::any_of(*after, [&](const std::string& column) {
    return std::ranges::find(*before, column) == before->end();
  });
}

std::string columns_text(const Columns& columns) {
  if (!columns) return "none";
  return columns->empty() ? "all columns" : list_names(*columns);
}

void compare_tables(ChangeList& changes, const TableRules& before, const TableRules& after) {
  if (before.all_tables != after.all_tables)
    changes.ordered(
        after.all_tables, before.all_tables,
        after.all_tables ? "can query every other table" : "can no longer query every other table");
  std::map<std::string, int> tables;
  for (const auto& [table, columns] : before.tables)
    tables[table];
  for (const auto& [table, columns] : after.tables)
    tables[table];
  for (const auto& [table, unused] : tables) {
    const Columns a = columns_of(before, table), b = columns_of(after, table);
    changes.ordered(has_more(a, b), has_more(b, a),
                    "table " + table + ": " + columns_text(a) + " → " + columns_text(b));
  }
}

}  // namespace

void compare_envelopes(ChangeList& changes, const Envelope& before, const Envelope& after) {
  if (before.caller->tenant != after.caller->tenant)
    changes.changed("tenant " + before.caller->tenant + " → " + after.caller->tenant);
#define SALLYPORT_COMPARE_LIMIT(limit, type, sentence)                                   \
  compare_bounds(changes, bound(before.limits.limit), bound(after.limits.limit), #limit, \
                 [](type value) { return limit_text(value); });
  SALLYPORT_LIMITS(SALLYPORT_COMPARE_LIMIT)
#undef SALLYPORT_COMPARE_LIMIT
  compare_rates(changes, before, after);
  compare_concurrency(changes, before, after);
  compare_budgets(changes, before, after);
  compare_tables(changes, before.tables, after.tables);
}

}  // namespace sallyport
