// The ceiling, credentials, audit and tests.
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

// Where a secret comes from. The secret itself is never in the file.
std::optional<std::string> read_source(const Spot& at) {
  auto text = read_text(at);
  if (!text) return std::nullopt;
  const std::string_view source = *text;
  if (source.starts_with("file:/") && !irregular_component(source.substr(5))) return text;
  if (source.starts_with("env:") && check_name(source.substr(4), NameKind::variable)) return text;
  at.refuse("this does not say where the secret comes from",
            "write \"file:/PATH\" or \"env:NAME\"; the secret itself is never in the file");
  return std::nullopt;
}

std::optional<std::string> read_variable(const Spot& at) {
  auto text = read_text(at);
  if (!text) return std::nullopt;
  if (auto checked = check_name(*text, NameKind::variable); !checked) {
    at.refuse(checked.error());
    return std::nullopt;
  }
  return text;
}

std::optional<std::string> read_inject(const Spot& at) {
  auto text = read_text(at);
  if (!text) return std::nullopt;
  if (*text == "bearer" || *text == "basic") return text;
  constexpr std::string_view kHeader = "header:";
  const std::string_view name =
      text->starts_with(kHeader) ? std::string_view(*text).substr(kHeader.size()) : "";
  if (!name.empty() && name.size() <= 64 && std::ranges::all_of(name, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '-';
      }))
    return text;
  at.refuse(quoted(*text) + " is not a way to send a secret", "write bearer, basic or header:NAME");
  return std::nullopt;
}

constexpr Field<Credential> kCredential[] = {
    {"from", R"x({"type": "string", "pattern": "^(file:/|env:)"})x",
     "Where the secret is: `file:/PATH` or `env:NAME`.", into<&Credential::from, read_source>,
     Presence::required},
    {"inject", R"({"type": "string", "pattern": "^(bearer|basic|header:.+)$"})",
     "How it is sent: `bearer`, `basic` or `header:NAME`.", into<&Credential::inject, read_inject>},
    {"env", kTextValue, "The variable in which the tool finds a placeholder for it.",
     into<&Credential::env, read_variable>},
    {"to", R"({"$ref": "#/$defs/hosts"})", "The hosts that it is sent to, and no other.",
     into<&Credential::to, read_hosts>, Presence::required},
    {"methods", R"({"$ref": "#/$defs/methods"})",
     "The HTTP methods that it is sent with; else all.", into<&Credential::methods, read_methods>},
    {"paths", R"({"$ref": "#/$defs/url_paths"})",
     "The beginnings of paths that it is sent to; else all.",
     into<&Credential::paths, read_url_paths>},
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

void read_credentials(const Spot& at, Rules& rules) {
  for_each_entry(at, [&](const Node& key, const Spot& value) {
    if (!check_key(value, key, NameKind::plain)) return;
    Credential credential{.name = key.text, .place = key.place};
    if (!read_section<Credential>(value, kCredential, credential)) return;
    if (value.node().find("to") && value.node().find("from") && !value.node().find("inject") &&
        !value.node().find("env"))
      value.refuse("the credential says neither how it is sent nor where the tool finds it",
                   "write inject: bearer, or env: NAME");
    rules.credentials.emplace(key.text, std::move(credential));
  });
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
SectionText credential_section() {
  return {"credential",
          "A secret that a tool may use without seeing it. A tool that uses one may reach its "
          "hosts; nothing else follows from it.",
          texts_of<Credential>(kCredential)};
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
