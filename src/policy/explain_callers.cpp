#include <algorithm>
#include <limits>

#include "base/text.h"
#include "policy/explain_sections.h"
#include "policy/limit_value.h"
#include "policy/network_access.h"
#include "policy/words.h"

namespace sallyport {
namespace {

constexpr Duration kHour = std::chrono::hours{1};

template <class Value>
std::string shown_limit(const Value& value) {
  return limit_text(value);
}
std::string shown_limit(const std::optional<Rate>& value) {
  return value ? limit_text(*value) : "unlimited";
}

ExplainedSection what_it_spends(const Envelope& envelope) {
  ExplainedSection section{"What one call can spend", {}};
  const auto add = [&](const char* name, const std::string& value, const char* sentence) {
    section.facts.push_back(
        {name, value + ": " + sentence + " (" + envelope.limit_rules.at(name) + ")"});
  };
#define SALLYPORT_EXPLAIN_LIMIT(limit, type, sentence) \
  add(#limit, shown_limit(envelope.limits.limit), sentence);
  SALLYPORT_LIMITS(SALLYPORT_EXPLAIN_LIMIT)
#undef SALLYPORT_EXPLAIN_LIMIT
  return section;
}

std::string sharers(const std::string& key, const Envelope& envelope) {
  if (key.starts_with("tool/"))
    return "calls of this tool by all callers of the tenant " + envelope.caller->tenant;
  if (key.starts_with("tenant/"))
    return "calls of any tool by all callers of the tenant " + envelope.caller->tenant;
  return "calls of any tool by each caller";
}

ExplainedSection how_often(const Envelope& envelope) {
  ExplainedSection section{"How often", {}};
  for (const RateRule& rule : envelope.rates)
    section.facts.push_back(
        {to_text(rule.rate), sharers(rule.key, envelope) + " (" + rule.rule + ")"});
  for (const ConcurrencyRule& rule : envelope.concurrency)
    section.facts.push_back({std::to_string(rule.most) + " at once",
                             sharers(rule.key, envelope) + " (" + rule.rule + ")"});
  if (envelope.budget) {
    const DailyBudget& budget = envelope.budget->budget;
    std::vector<std::string> parts;
    if (budget.cpu) parts.push_back(to_text(*budget.cpu) + " of CPU time");
    if (budget.egress) parts.push_back(to_text(*budget.egress) + " sent out");
    if (budget.calls) parts.push_back(std::to_string(*budget.calls) + " calls");
    section.facts.push_back({"a day", list_names(parts) + " by all callers of the tenant " +
                                          envelope.caller->tenant + " (" + envelope.budget->rule +
                                          ")"});
  }
  return section;
}

ExplainedSection which_tables(const Envelope& envelope) {
  ExplainedSection section{"Which tables", {}};
  for (const auto& [table, columns] : envelope.tables.tables)
    section.facts.push_back(
        {escape_for_terminal(table),
         columns.empty() ? "all columns" : escape_for_terminal(list_names(columns))});
  if (envelope.tables.all_tables)
    section.facts.push_back({section.facts.empty() ? "" : "all others", "All columns."});
  if (section.facts.empty()) section.facts.push_back({"", "None."});
  if (envelope.tool->rows)
    section.facts.push_back({"rows", "at most " + std::to_string(*envelope.tool->rows)});
  return section;
}

// What `calls` calls of at most `each` come to; never past what a Duration of ours may hold.
Duration total(std::uint64_t calls, Duration each) {
  const auto most = static_cast<std::uint64_t>(kGreatestDuration.count());
  std::uint64_t product = 0;
  if (__builtin_mul_overflow(calls, static_cast<std::uint64_t>(each.count()), &product))
    return kGreatestDuration;
  return Duration{static_cast<std::int64_t>(std::min(product, most))};
}

std::string places(const std::vector<FileRule>& rules) {
  return list_names(
      each_text(rules, [](const FileRule& rule) { return escape_for_terminal(rule.host); }));
}

std::string worst_call(const Envelope& envelope) {
  const Tool& tool = *envelope.tool;
  const Limits& limits = envelope.limits;
  if (tool.kind == ToolKind::function)
    return "At worst, one call does whatever the program that registered the function can do.";
  std::vector<std::string> parts;
  if (runs_in_cell(tool)) {
    parts.push_back("run for " + to_text(limits.timeout));
    parts.push_back("use " + to_text(limits.cpu) + " of CPU time and " + to_text(limits.memory) +
                    " of memory in " + std::to_string(limits.processes) + " processes");
    if (!tool.files.read.empty()) parts.push_back("read everything in " + places(tool.files.read));
    if (!tool.files.write.empty())
      parts.push_back(
          "read, change or delete everything in " + places(tool.files.write) +
          (tool.files.write_mode == WriteMode::direct ? " and fill the disk behind it" : ""));
    if (tool.files.client == ClientFiles::read) parts.push_back("read what its caller shows it");
    if (tool.files.client == ClientFiles::write)
      parts.push_back("read, change or delete what its caller shows it");
  }
  std::vector<std::string> hosts =
      each_text(tool.network.allow, [](const HostRule& rule) { return rule.host.to_text(); });
  if (tool.kind == ToolKind::http) {
    const auto url = fixed_part(tool.http);
    hosts.push_back(url ? url->host_text() : "the host of " + escape_for_terminal(tool.http.url));
  }
  if (tool.share_network) hosts.emplace_back("ANY HOST THAT THIS MACHINE REACHES");
  if (!hosts.empty()) parts.push_back("send all that it can read to " + list_names(hosts, "or"));
  if (!tool.credentials.empty())
    parts.push_back("act with the credential " + list_names(tool.credentials));
  if (tool.irreversible) parts.push_back("do what cannot be undone");
  parts.push_back("give back " + to_text(limits.max_output) + " a stream, or " +
                  to_text(limits.max_result) + " of data" +
                  (runs_in_cell(tool) ? ", and " + to_text(limits.disk) + " of files" : ""));
  std::string text = "At worst, one call can " + list_names(parts) + ".";
  if (runs_in_cell(tool) && hosts.empty() && tool.credentials.empty())
    text.append(" It cannot send anything anywhere but into its own result")
        .append(tool.files.write.empty() ? "." : " and those directories.");
  return text;
}

// The sum for one caller, and for all callers of the tenant where they share a rate.
std::string worst_hour(const Envelope& envelope, std::size_t callers) {
  const auto most = calls_in_an_hour(envelope.rates);
  if (!most) return "No rate bounds how many calls can be made in an hour.";
  std::uint64_t count = most->count;
  std::string rule = most->rule->rule;
  if (envelope.budget && envelope.budget->budget.calls && *envelope.budget->budget.calls < count) {
    count = *envelope.budget->budget.calls;
    rule = envelope.budget->rule;
  }
  std::string text = "In an hour, ";
  text.append(callers == 1 ? envelope.caller->name : "each of these callers");
  text.append(" can make ").append(std::to_string(count)).append(count == 1 ? " call" : " calls");
  text.append(" (").append(rule).append(")");
  if (!runs_in_cell(*envelope.tool)) return text + ".";
  Duration cpu = total(count, envelope.limits.cpu);
  if (envelope.budget && envelope.budget->budget.cpu && *envelope.budget->budget.cpu < cpu) {
    cpu = *envelope.budget->budget.cpu;
    return text + ", and use at most " + to_text(cpu) + " of CPU time (" + envelope.budget->rule +
           ").";
  }
  return text + ", and use at most " + to_text(cpu) + " of CPU time.";
}

}  // namespace

std::optional<HourlyCalls> calls_in_an_hour(const std::vector<RateRule>& rates) {
  std::optional<HourlyCalls> most;
  for (const RateRule& rule : rates) {
    if (rule.rate.window <= Duration::zero()) continue;
    // As many windows as it takes to cover the hour, each with its full count.
    const auto windows =
        static_cast<std::uint64_t>((kHour.count() - 1) / rule.rate.window.count() + 1);
    const std::uint64_t count = rule.rate.count * windows;
    if (!most || count < most->count) most = HourlyCalls{count, &rule};
  }
  return most;
}

std::vector<ExplainedSection> envelope_sections(const Rules&, const Envelope& envelope,
                                                std::size_t callers) {
  std::vector<ExplainedSection> sections;
  if (envelope.tool->kind != ToolKind::function || envelope.tool->tier == Tier::thread)
    sections.push_back(what_it_spends(envelope));
  sections.push_back(how_often(envelope));
  if (envelope.tool->kind == ToolKind::builtin && envelope.tool->builtin == Builtin::sql)
    sections.push_back(which_tables(envelope));
  sections.push_back(
      {"The worst case", {{"", worst_call(envelope) + " " + worst_hour(envelope, callers)}}});
  return sections;
}

}  // namespace sallyport
