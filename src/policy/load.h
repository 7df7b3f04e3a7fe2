// The sections of the policy file, each read by its own table: load_*.cpp.
#pragma once

#include <expected>
#include <string_view>
#include <vector>

#include "policy/reading.h"
#include "policy/rules.h"

namespace sallyport {

// --- load_who.cpp
void read_roles(const Spot& at, Rules& rules);
void read_tenants(const Spot& at, Rules& rules);
void read_callers(const Spot& at, Rules& rules);
void read_lockout(const Spot& at, Rules& rules);

// --- load_limits.cpp
[[nodiscard]] std::optional<LimitRules> read_limits(const Spot& at);
[[nodiscard]] std::optional<DailyBudget> read_budget(const Spot& at);
// What `limits` says beyond `base`, which it may replace in parts.
void merge_limits(LimitRules& base, const LimitRules& limits);

// --- load_files.cpp
// `narrowed`: a glob may say which names are meant, as the file tools allow.
[[nodiscard]] std::optional<FileRules> read_files(const Spot& at, bool narrowed);
[[nodiscard]] std::optional<DenyRule> read_denied_path(const Spot& at);
// An absolute path without ".", ".." and empty components.
[[nodiscard]] std::optional<std::string> read_absolute_path(const Spot& at);

// --- load_network.cpp
[[nodiscard]] std::optional<ByteSize> read_bytes(const Spot& at);  // more than nothing
[[nodiscard]] std::optional<NetworkRules> read_network(const Spot& at);
[[nodiscard]] std::optional<std::vector<HostPattern>> read_hosts(const Spot& at);
[[nodiscard]] std::optional<HostRule> read_host_rule(const Spot& at);
[[nodiscard]] std::optional<std::vector<std::string>> read_methods(const Spot& at);
[[nodiscard]] std::optional<std::vector<std::string>> read_url_paths(const Spot& at);

// --- load_tables.cpp: `tables` of roles and of the sql tool
[[nodiscard]] std::optional<TableRules> read_tables(const Spot& at);

// --- load_arguments.cpp
[[nodiscard]] std::optional<std::vector<Argument>> read_arguments(const Spot& at);
// JSON Schema as it may stand in the file: no `format`, no unknown keyword.
[[nodiscard]] std::optional<Schema> read_schema(const Spot& at, json::value& text);
// The arguments of a function of a host program, checked like those of the file. `rule` is what the
// problems begin with: "functions.get_item.args".
[[nodiscard]] std::expected<std::vector<Argument>, std::vector<PolicyProblem>> compile_arguments(
    const json::object& args, std::string_view rule);

// --- load_templates.cpp
[[nodiscard]] Result<Template> parse_template(std::string_view text, const Tool& tool);
// The names of the arguments that the strings in `value` mention.
[[nodiscard]] Result<void> check_placeholders(const json::value& value, const Tool& tool,
                                              std::vector<std::string>& mentioned);

// --- builtins.cpp
[[nodiscard]] std::optional<Builtin> find_builtin(std::string_view name);
[[nodiscard]] std::span<const std::string_view> builtin_names();
[[nodiscard]] const std::vector<Argument>& arguments_of(Builtin builtin);

// --- load_tools.cpp
void read_defaults(const Spot& at, Rules& rules);
void read_tools(const Spot& at, Rules& rules);

// --- load_http.cpp
void read_http_request(const Spot& at, HttpRequestRule& http);
[[nodiscard]] std::optional<std::string> read_http_method(const Spot& at);

// --- check_tool.cpp: keys and arguments that mean nothing to a tool, in one that could be read.
void check_tool(const Spot& at, const Tool& tool);

// --- check_argv.cpp: arguments that a command would misread, in a tool that is sound by itself.
void check_argv(const Spot& at, const Tool& tool);

// --- load_output.cpp
[[nodiscard]] std::optional<OutputRules> read_output(const Spot& at);
[[nodiscard]] std::optional<std::map<std::string, ScreenAction>> read_screen(const Spot& at);
[[nodiscard]] std::optional<ApprovalRule> read_approval(const Spot& at);

// --- load_credentials.cpp
void read_vault(const Spot& at, Rules& rules);
void read_credentials(const Spot& at, Rules& rules);

// --- load_rest.cpp
void read_ceiling(const Spot& at, Rules& rules);
void read_pool(const Spot& at, Rules& rules);
void read_audit(const Spot& at, Rules& rules);
void read_tests(const Spot& at, Rules& rules);

// --- check.cpp: what no section can see alone.
void check_rules(const Node& root, const Rules& rules, Notes& notes);

// The tree as a policy, or all that is wrong with it (policy.cpp).
[[nodiscard]] PolicyResult compile_policy(const Node& root, std::string_view file);

// The tables, as they are published.
[[nodiscard]] SectionText role_section();
[[nodiscard]] SectionText tenant_section();
[[nodiscard]] SectionText caller_section();
[[nodiscard]] SectionText lockout_section();
[[nodiscard]] SectionText limits_section();
[[nodiscard]] SectionText budget_section();
[[nodiscard]] SectionText files_section();
[[nodiscard]] SectionText network_section();
[[nodiscard]] SectionText host_section();
[[nodiscard]] SectionText argument_section();
[[nodiscard]] SectionText defaults_section();
[[nodiscard]] SectionText tool_section();
[[nodiscard]] SectionText http_section();
[[nodiscard]] SectionText output_section();
[[nodiscard]] SectionText approval_section();
[[nodiscard]] SectionText ceiling_section();
[[nodiscard]] SectionText ceiling_files_section();
[[nodiscard]] SectionText ceiling_network_section();
[[nodiscard]] SectionText vault_section();
[[nodiscard]] SectionText credential_section();
[[nodiscard]] SectionText pool_section();
[[nodiscard]] SectionText audit_section();
[[nodiscard]] SectionText price_section();
[[nodiscard]] SectionText test_section();
[[nodiscard]] SectionText policy_section();

}  // namespace sallyport
