#include "policy/envelope.h"

#include <algorithm>

#include "base/sha256.h"
#include "base/text.h"
#include "policy/limit_value.h"

namespace sallyport {
namespace {

// When the file is silent: see Limits for the others.
constexpr CallRate kBuiltinRate{.count = 10, .window = std::chrono::minutes{1}};

bool contains(const std::vector<std::string>& list, std::string_view word) {
  return std::ranges::find(list, word) != list.end();
}

// One level of the policy that has something to say about limits.
struct Level {
  const LimitRules* limits;
  std::string place;  // "roles.support"
};

// The limit that a tool has before anybody narrows it: its own, or the default, or the built-in
// one. The loader has copied the defaults into the tools; a tool of the host program may lack them.
template <class Value>
void begin(Value& value, std::string& rule, const std::optional<Value>& own,
           const std::optional<Value>& preset, const std::string& tool, std::string_view name) {
  rule = "built-in";
  if (preset) {
    value = *preset;
    rule = std::string("defaults.limits.").append(name);
  }
  if (own && own != preset) {
    value = *own;
    rule = std::string("tools.").append(tool).append(".limits.").append(name);
  }
}
void begin(std::optional<Rate>& value, std::string& rule, const std::optional<Rate>& own,
           const std::optional<Rate>& preset, const std::string& tool, std::string_view name) {
  Rate some;
  begin(some, rule, own, preset, tool, name);
  if (own || preset) value = some;
}

template <class Value>
void narrow(Value& value, std::string& rule, const std::optional<Value>& other, const Level& level,
            std::string_view name) {
  if (!other || *other >= value) return;
  value = *other;
  rule = std::string(level.place).append(".limits.").append(name);
}
void narrow(std::optional<Rate>& value, std::string& rule, const std::optional<Rate>& other,
            const Level& level, std::string_view name) {
  Rate some = value.value_or(Rate{{std::numeric_limits<std::uint64_t>::max()}});
  narrow(some, rule, other, level, name);
  if (other) value = some;
}

// No more can come back than may be written.
void keep_consistent(Limits& limits) {
  limits.max_output = std::min(limits.max_output, limits.max_output_hard);
}

void set_limits(Envelope& envelope, const Rules& rules) {
  const Tool& tool = *envelope.tool;
  std::vector<Level> levels = {{&rules.ceiling.limits, "ceiling"}};
  if (envelope.tenant)
    levels.push_back({&envelope.tenant->limits, "tenants." + envelope.tenant->name});
  if (envelope.role) levels.push_back({&envelope.role->limits, "roles." + envelope.role->name});
  levels.push_back({&envelope.caller->limits, "callers." + envelope.caller->name});

#define SALLYPORT_SET_LIMIT(limit, type, sentence)                                                \
  {                                                                                               \
    std::string& rule = envelope.limit_rules[#limit];                                             \
    begin(envelope.limits.limit, rule, tool.limits.limit, rules.defaults.limits.limit, tool.name, \
          #limit);                                                                                \
    for (const Level& level : levels)                                                             \
      narrow(envelope.limits.limit, rule, level.limits->limit, level, #limit);                    \
  }
  SALLYPORT_LIMITS(SALLYPORT_SET_LIMIT)
#undef SALLYPORT_SET_LIMIT

  if (envelope.limits.max_output > envelope.limits.max_output_hard)
    envelope.limit_rules["max_output"] = envelope.limit_rules["max_output_hard"];
  keep_consistent(envelope.limits);
}

void add_rates(Envelope& envelope, const std::vector<CallRate>& rates, const std::string& key,
               const std::string& rule) {
  for (const CallRate& rate : rates)
    envelope.rates.push_back({key, rule, rate});
}

// One tenant's calls of a tool are not counted against another's: it could use them all up.
void set_rates(Envelope& envelope, const Rules& rules) {
  const Tool& tool = *envelope.tool;
  const Caller& caller = *envelope.caller;
  const std::string caller_key = "caller/" + caller.name;
  const std::string tool_key = "tool/" + caller.tenant + "/" + tool.name;

  add_rates(envelope, caller.rates, caller_key, "callers." + caller.name + ".rate");
  if (envelope.role)
    add_rates(envelope, envelope.role->rates, "role/" + envelope.role->name + "/" + caller_key,
              "roles." + envelope.role->name + ".rate");
  if (!tool.rates.empty() && tool.rates != rules.defaults.rates)
    add_rates(envelope, tool.rates, tool_key, "tools." + tool.name + ".rate");
  else if (!rules.defaults.rates.empty())
    add_rates(envelope, rules.defaults.rates, tool_key, "defaults.rate");
  else
    add_rates(envelope, {kBuiltinRate}, tool_key, "built-in");
  if (envelope.tenant)
    add_rates(envelope, envelope.tenant->rates, "tenant/" + caller.tenant,
              "tenants." + caller.tenant + ".rate");
}

void set_concurrency(Envelope& envelope, const Rules& rules) {
  const Tool& tool = *envelope.tool;
  const Caller& caller = *envelope.caller;
  if (caller.concurrency)
    envelope.concurrency.push_back(
        {"caller/" + caller.name, "callers." + caller.name + ".concurrency", *caller.concurrency});
  const auto most = tool.concurrency ? tool.concurrency : rules.defaults.concurrency;
  if (most)
    envelope.concurrency.push_back({"tool/" + caller.tenant + "/" + tool.name,
                                    most == rules.defaults.concurrency
                                        ? "defaults.concurrency"
                                        : "tools." + tool.name + ".concurrency",
                                    *most});
  if (envelope.tenant && envelope.tenant->concurrency)
    envelope.concurrency.push_back({"tenant/" + caller.tenant,
                                    "tenants." + caller.tenant + ".concurrency",
                                    *envelope.tenant->concurrency});
}

void set_budget(Envelope& envelope) {
  if (!envelope.tenant) return;
  const DailyBudget& budget = envelope.tenant->budget;
  if (!budget.cpu && !budget.egress && !budget.calls) return;
  envelope.budget = BudgetRule{"tenant/" + envelope.tenant->name,
                               "tenants." + envelope.tenant->name + ".budget", budget};
}

// The columns of `table` that the rules allow: none if the table is not allowed at all, an empty
// list for all of them.
std::optional<std::vector<std::string>> columns_of(const TableRules& rules,
                                                   const std::string& table) {
  if (const auto found = rules.tables.find(table); found != rules.tables.end())
    return found->second;
  if (rules.all_tables) return std::vector<std::string>();
  return std::nullopt;
}

TableRules intersection(const TableRules& a, const TableRules& b) {
  TableRules both{.all_tables = a.all_tables && b.all_tables, .tables = {}};
  const auto add = [&](const std::string& table) {
    const auto left = columns_of(a, table), right = columns_of(b, table);
    if (!left || !right) return;
    std::vector<std::string> columns = left->empty() ? *right : *left;
    if (!left->empty() && !right->empty())
      std::erase_if(columns, [&](const std::string& column) {
        return std::ranges::none_of(*right, [&](const std::string& other) {
          return std::ranges::equal(column, other, {}, SqlNameOrder::small, SqlNameOrder::small);
        });
      });
    std::ranges::sort(columns);
    if (columns.empty() && (!left->empty() || !right->empty())) {
      // No column in common. An empty list would mean all of them, and beside "*" there is no way
      // to leave one table out.
      both.all_tables = false;
      return;
    }
    both.tables[table] = std::move(columns);
  };
  for (const auto& [table, columns] : a.tables)
    add(table);
  for (const auto& [table, columns] : b.tables)
    if (!a.tables.contains(table)) add(table);
  return both;
}

template <class Value>
Result<void> check_asked(Value& value, const std::optional<Value>& asked, std::string_view name,
                         const Envelope& envelope) {
  if (!asked) return {};
  if (*asked > value) {
    const auto found = envelope.limit_rules.find(std::string(name));
    const std::string rule = found == envelope.limit_rules.end() ? "built-in" : found->second;
    return fail(
        Reason::argument,
        std::string("the limit ")
            .append(name)
            .append(" of ")
            .append(limit_text(*asked))
            .append(" is wider than the ")
            .append(limit_text(value))
            .append(" that ")
            .append(rule == "built-in" ? "is built in" : rule + " allows"),
        std::string("ask for at most ").append(limit_text(value)).append(", or leave it out"));
  }
  value = *asked;
  return {};
}
Result<void> check_asked(std::optional<Rate>& value, const std::optional<Rate>& asked,
                         std::string_view name, const Envelope& envelope) {
  if (!asked) return {};
  Rate some = value.value_or(*asked);
  if (auto checked = check_asked(some, asked, name, envelope); !checked) return checked;
  value = some;
  return {};
}

}  // namespace

std::vector<std::string> missing_permissions(const Tool& tool, const Role* role) {
  std::vector<std::string> missing;
  const auto held = [role](const std::string& permission) {
    return role &&
           (contains(role->permissions, permission) || contains(role->permissions, "admin"));
  };
  for (const std::string& permission : tool.needs)
    if (!held(permission)) missing.push_back(permission);
  std::ranges::sort(missing);
  const auto repeated = std::ranges::unique(missing);
  missing.erase(repeated.begin(), repeated.end());
  return missing;
}

Envelope make_envelope(const Rules& rules, const Tool& tool, const Caller& caller) {
  Envelope envelope;
  envelope.tool = &tool;
  envelope.caller = &caller;
  envelope.ceiling = &rules.ceiling;
  if (const auto role = rules.roles.find(caller.role); role != rules.roles.end())
    envelope.role = &role->second;
  if (const auto tenant = rules.tenants.find(caller.tenant); tenant != rules.tenants.end())
    envelope.tenant = &tenant->second;

  envelope.missing = missing_permissions(tool, envelope.role);
  set_limits(envelope, rules);
  set_rates(envelope, rules);
  set_concurrency(envelope, rules);
  set_budget(envelope);
  envelope.tables = envelope.role && envelope.role->tables
                        ? intersection(tool.tables, *envelope.role->tables)
                        : intersection(tool.tables, {.all_tables = true, .tables = {}});
  envelope.hash = sha256_hex(canonical_json(to_json(envelope)));
  return envelope;
}

Result<Limits> tighten(const Envelope& envelope, const CallLimits& asked) {
  LimitRules wanted;
  for (const auto& [name, text] : asked) {
    if (auto set = set_limit(wanted, name, text); !set) {
      Error error = std::move(set.error());
      error.message.insert(0, "limits: ");
      return std::unexpected(std::move(error));
    }
  }
  Limits limits = envelope.limits;
#define SALLYPORT_CHECK_ASKED(name, type, sentence)                                    \
  if (auto checked = check_asked(limits.name, wanted.name, #name, envelope); !checked) \
    return std::unexpected(std::move(checked.error()));
  SALLYPORT_LIMITS(SALLYPORT_CHECK_ASKED)
#undef SALLYPORT_CHECK_ASKED
  keep_consistent(limits);
  return limits;
}

}  // namespace sallyport
