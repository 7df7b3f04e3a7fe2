// The ceiling, the pool, audit and tests.
#include <algorithm>

#include "base/text.h"
#include "policy/load.h"
#include "sallyport/reason.h"

namespace sallyport {
namespace {

// Every grant is held against every one of them.
constexpr std::size_t kMostDenied = 256;

void read_denied_paths(const Spot& at, Ceiling& ceiling) {
  if (at.node().items.size() > kMostDenied)
    return at.refuse("more than " + std::to_string(kMostDenied) + " paths are denied",
                     "deny directories above them");
  for_each_item(at, [&](const Spot& item) {
    if (auto rule = read_denied_path(item)) ceiling.deny_files.push_back(std::move(*rule));
  });
}

void read_denied_hosts(const Spot& at, Ceiling& ceiling) {
  if (at.node().items.size() > kMostDenied)
    return at.refuse("more than " + std::to_string(kMostDenied) + " hosts are denied",
                     "deny domains above them");
  if (auto hosts = read_hosts(at)) ceiling.deny_hosts = std::move(*hosts);
}

constexpr Field<Ceiling> kCeilingFiles[] = {
    {"deny", kTextsValue, "Globs of absolute paths that no tool sees, such as `/**/.ssh/**`.",
     read_denied_paths, Presence::required},
};
constexpr Field<Ceiling> kCeilingNetwork[] = {
    {"deny", R"({"$ref": "#/$defs/hosts"})", "Hosts that no tool reaches.", read_denied_hosts,
     Presence::required},
};
constexpr Field<Ceiling> kCeiling[] = {
    {"limits", kLimitsValue, "The most that any call may spend.",
     into<&Ceiling::limits, read_limits>},
    {"files", R"({"$ref": "#/$defs/ceiling_files"})", "Files that no tool sees.",
     [](const Spot& at, Ceiling& ceiling) { read_section<Ceiling>(at, kCeilingFiles, ceiling); }},
    {"network", R"({"$ref": "#/$defs/ceiling_network"})", "Hosts that no tool reaches.",
     [](const Spot& at, Ceiling& ceiling) { read_section<Ceiling>(at, kCeilingNetwork, ceiling); }},
};

constexpr std::uint64_t kMostParked = 4096;

std::optional<unsigned> read_parked(const Spot& at) {
  const auto count = read_count(at, 0, kMostParked);
  if (!count) return std::nullopt;
  return static_cast<unsigned>(*count);
}

constexpr std::string_view kParkedValue = R"({"type": "integer", "minimum": 0, "maximum": 4096})";
constexpr Field<PoolRules> kPool[] = {
    {"min", kParkedValue, "So many cells of a class are ready from the beginning, and stay so; 0.",
     into<&PoolRules::min, read_parked>},
    {"max", kParkedValue, "Never more of a class; 32. 0: every cell is made for its call.",
     into<&PoolRules::max, read_parked>},
    {"memory", kSizeValue, "Of all cells that wait; 1GiB.", into<&PoolRules::memory, read_bytes>},
    {"idle", kDurationValue, "Without a call for so long, a class goes back to `min`; 60s.",
     into<&PoolRules::idle, read_duration>},
};

std::optional<std::string> read_recording(const Spot& at) {
  constexpr std::string_view kWays[] = {"redacted", "full", "hash", "none"};
  return read_choice(at, kWays);
}

// A unit that nothing is counted in would make calls look free.
void read_unit(const Spot& at, AuditRules& audit) {
  if (const auto amount = read_amount(at)) audit.price[std::string(at.key())] = *amount;
}

constexpr std::string_view kAmountValue = R"({"type": "number", "minimum": 0})";
constexpr Field<AuditRules> kPrice[] = {
    {"call", kAmountValue, "A call.", read_unit},
    {"cpu_hour", kAmountValue, "An hour of CPU time.", read_unit},
    {"wall_hour", kAmountValue, "An hour from begin to end.", read_unit},
    {"memory_gib_hour", kAmountValue, "An hour with 1 GiB of memory, at the peak.", read_unit},
    {"output_gb", kAmountValue, "1 GB of output.", read_unit},
};

constexpr Field<AuditRules> kAudit[] = {
    {"arguments", R"({"enum": ["redacted", "full", "hash", "none"]})",
     "How arguments are recorded; `redacted`.", into<&AuditRules::arguments, read_recording>},
    {"price", R"({"$ref": "#/$defs/price"})", "What a call costs, as `cost` of its record.",
     [](const Spot& at, AuditRules& audit) { read_section<AuditRules>(at, kPrice, audit); }},
};

std::optional<std::string> read_expectation(const Spot& at) {
  constexpr std::string_view kExpectations[] = {"allowed", "blocked", "pending"};
  return read_choice(at, kExpectations);
}

std::optional<std::string> read_reason(const Spot& at) {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> list;
    for (const ReasonText& row : kReasons)
      list.push_back(row.name);
    return list;
  }();
  return read_choice(at, names);
}

constexpr Field<PolicyTest> kTest[] = {
    {"as", kNameValue, "The caller.", into<&PolicyTest::caller, read_name>, Presence::required},
    {"call", kNameValue, "The tool.", into<&PolicyTest::tool, read_name>, Presence::required},
    {"args", R"({"type": "object"})", "The arguments.", into<&PolicyTest::args, read_json_object>},
    {"expect", R"({"enum": ["allowed", "blocked", "pending"]})", "What is decided.",
     into<&PolicyTest::expect, read_expectation>, Presence::required},
    {"reason", R"({"type": "string"})", "Why, by the name of a reason.",
     into<&PolicyTest::reason, read_reason>},
};

}  // namespace

void read_ceiling(const Spot& at, Rules& rules) {
  read_section<Ceiling>(at, kCeiling, rules.ceiling);
}

void read_pool(const Spot& at, Rules& rules) {
  if (read_section<PoolRules>(at, kPool, rules.pool) && rules.pool.min > rules.pool.max)
    at.refuse("`min` is greater than `max`", "write a `max` of " + std::to_string(rules.pool.min));
}

void read_audit(const Spot& at, Rules& rules) {
  read_section<AuditRules>(at, kAudit, rules.audit);
}

void read_tests(const Spot& at, Rules& rules) {
  for_each_item(at, [&](const Spot& item) {
    const Place place = item.node().place;
    PolicyTest test{.place = place, .caller_place = place, .tool_place = place};
    if (!read_section<PolicyTest>(item, kTest, test)) return;
    if (const Node* as = item.node().find("as")) test.caller_place = as->place;
    if (const Node* call = item.node().find("call")) test.tool_place = call->place;
    if (test.expect == "allowed" && !test.reason.empty())
      item.refuse("a call that is allowed has no reason", "leave `reason` out");
    rules.tests.push_back(std::move(test));
  });
}

SectionText ceiling_section() {
  return {"ceiling", "What nothing below may exceed; an excess is an error at load.",
          texts_of<Ceiling>(kCeiling)};
}
SectionText ceiling_files_section() {
  return {"ceiling_files", "Files that no tool sees.", texts_of<Ceiling>(kCeilingFiles)};
}
SectionText ceiling_network_section() {
  return {"ceiling_network", "Hosts that no tool reaches.", texts_of<Ceiling>(kCeilingNetwork)};
}
SectionText pool_section() {
  return {"pool", "Cells that are made before their calls come, for each class of calls.",
          texts_of<PoolRules>(kPool)};
}
SectionText audit_section() {
  return {"audit", "What is recorded of calls.", texts_of<AuditRules>(kAudit)};
}
SectionText price_section() {
  return {"price", "What a unit costs, in any currency.", texts_of<AuditRules>(kPrice)};
}
SectionText test_section() {
  return {"test", "A call and what the policy must decide about it.", texts_of<PolicyTest>(kTest)};
}

}  // namespace sallyport
