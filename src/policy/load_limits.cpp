// Budgets: of one call (`limits`) and of a day (`budget`).
#include "base/text.h"
#include "policy/limit_value.h"
#include "policy/load.h"

namespace sallyport {
namespace {

template <class Value>
constexpr std::string_view kSchemaOf = R"({"type": "integer", "minimum": 0})";
template <>
constexpr std::string_view kSchemaOf<Duration> = kDurationValue;
template <>
constexpr std::string_view kSchemaOf<ByteSize> = kSizeValue;
template <>
constexpr std::string_view kSchemaOf<Rate> = R"({"$ref": "#/$defs/bandwidth"})";
template <>
constexpr std::string_view kSchemaOf<double> = R"({"type": "number", "minimum": 0.01})";

template <class Value>
constexpr bool kIsNumber = std::is_arithmetic_v<Value>;

template <class Value>
void read_limit(const Spot& at, LimitRules& limits, std::optional<Value> LimitRules::* member) {
  const auto text = read_bare(at, kIsNumber<Value> ? "a number" : "a value with its unit");
  if (!text) return;
  if (kIsNumber<Value> && at.node().quoted)
    return at.refuse("a number is wanted here, and this is a quoted text",
                     "write " + escape_for_terminal(text->substr(0, 40)) + " without quotes");
  if (auto set = set_limit(limits, at.key(), *text); !set) return at.refuse(set.error());
  at.means(json::value(limit_text(*(limits.*member))));
}

constexpr Field<LimitRules> kLimits[] = {
#define SALLYPORT_LIMIT_FIELD(name, type, sentence) \
  {#name, kSchemaOf<type>, sentence,                \
   [](const Spot& at, LimitRules& limits) { read_limit<type>(at, limits, &LimitRules::name); }},
    SALLYPORT_LIMITS(SALLYPORT_LIMIT_FIELD)
#undef SALLYPORT_LIMIT_FIELD
};

// "2h/day": a quantity for one day.
template <auto Parse>
auto read_daily(const Spot& at) {
  using Value = typename decltype(Parse({}))::value_type;
  std::optional<Value> value;
  const auto text = read_bare(at, "an amount for one day such as 2h/day or 1GiB/day");
  if (!text) return value;
  constexpr std::string_view kDay = "/day";
  if (!text->ends_with(kDay)) {
    at.refuse(quoted(*text) + " does not say that it is for one day",
              text->contains('/') ? "write it for one day, such as 2h/day or 1GiB/day"
                                  : "write " + escape_for_terminal(text->substr(0, 40)) + "/day");
    return value;
  }
  const auto parsed = Parse(text->substr(0, text->size() - kDay.size()));
  if (!parsed) {
    at.refuse(parsed.error());
  } else if (*parsed == Value{}) {
    at.refuse(quoted(*text) + " allows nothing", "write more, or leave the key out");
  } else {
    value = *parsed;
    at.means(json::value(to_text(*parsed) + "/day"));
  }
  return value;
}

void read_daily_calls(const Spot& at, DailyBudget& budget) {
  const auto text = read_bare(at, "a number of calls such as 1000/day");
  if (!text) return;
  const auto rate = parse_call_rate(*text);
  if (!rate) return at.refuse(rate.error());
  if (rate->window != std::chrono::hours{24})
    return at.refuse(quoted(*text) + " is not for one day", "write N/day; `rate` takes the others");
  budget.calls = rate->count;
  at.means(json::value(to_text(*rate)));
}

constexpr Field<DailyBudget> kBudget[] = {
    {"cpu", R"({"type": "string", "pattern": "^[0-9.]+(ms|s|min|h)/day$"})",
     "CPU time, as in `2h/day`.", into<&DailyBudget::cpu, read_daily<parse_duration>>},
    {"egress", R"({"type": "string", "pattern": "^[0-9.]+(B|kB|MB|GB|KiB|MiB|GiB)/day$"})",
     "Bytes sent to the network, as in `1GiB/day`.",
     into<&DailyBudget::egress, read_daily<parse_size>>},
    {"calls", R"({"type": "string", "pattern": "^[1-9][0-9]*/day$"})", "Calls, as in `1000/day`.",
     read_daily_calls},
};

}  // namespace

std::optional<LimitRules> read_limits(const Spot& at) {
  LimitRules limits;
  if (!read_section<LimitRules>(at, kLimits, limits)) return std::nullopt;
  if (limits.max_output && limits.max_output_hard && *limits.max_output > *limits.max_output_hard)
    at.refuse("max_output is more than max_output_hard",
              "raise max_output_hard too, or lower max_output");
  return limits;
}

std::optional<DailyBudget> read_budget(const Spot& at) {
  DailyBudget budget;
  if (!read_section<DailyBudget>(at, kBudget, budget)) return std::nullopt;
  return budget;
}

void merge_limits(LimitRules& base, const LimitRules& limits){
#define SALLYPORT_MERGE_LIMIT(name, type, sentence) \
  if (limits.name) base.name = limits.name;
    SALLYPORT_LIMITS(SALLYPORT_MERGE_LIMIT)
#undef SALLYPORT_MERGE_LIMIT
}

SectionText limits_section() {
  return {"limits", "What one call may spend. The strictest of all that apply is in force.",
          texts_of<LimitRules>(kLimits)};
}
SectionText budget_section() {
  return {"budget", "What may be spent in one day (UTC).", texts_of<DailyBudget>(kBudget)};
}

}  // namespace sallyport
