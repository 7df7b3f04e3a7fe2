// What the policy file says, as typed values. Everything here was checked when it was loaded; a
// value is as the file wrote it, an empty optional means that the file is silent. What is in force
// for one tool and one caller is an Envelope.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/glob.h"
#include "base/json.h"
#include "credential/settings.h"
#include "input/command_rules.h"
#include "input/host.h"
#include "input/schema.h"
#include "policy/limit_table.h"
#include "policy/node.h"
#include "sallyport/call_rate.h"
#include "sallyport/policy.h"
#include "sallyport/write_mode.h"

namespace sallyport {

// --- who ------------------------------------------------------------------------------------

// Names of tables and columns, as SQL compares them: A–Z are a–z.
struct SqlNameOrder {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const {
    return std::ranges::lexicographical_compare(a, b, {}, small, small);
  }
  static constexpr char small(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
};

// A list of tables with their columns. A table that is not listed is not allowed.
struct TableRules {
  bool all_tables = false;                                               // "*"
  std::map<std::string, std::vector<std::string>, SqlNameOrder> tables;  // no columns: all of them
};

struct Role {
  std::string name;
  Place place;
  std::vector<std::string> permissions;
  std::vector<CallRate> rates;  // of each of its callers
  LimitRules limits;
  std::optional<TableRules> tables;
};

struct DailyBudget {
  std::optional<Duration> cpu;
  std::optional<ByteSize> egress;
  std::optional<std::uint64_t> calls;
};

struct Tenant {
  std::string name;
  Place place;
  std::vector<CallRate> rates;  // of all its callers together
  std::optional<unsigned> concurrency;
  DailyBudget budget;
  LimitRules limits;
};

struct Caller {
  std::string name;
  Place place;
  std::string tenant;  // "default" when the file is silent
  std::string role;
  std::vector<CallRate> rates;
  std::optional<unsigned> concurrency;
  LimitRules limits;
};

struct Lockout {
  std::uint32_t after = 10;  // denials
  Duration within{};
  Duration lasts{};
  bool by_caller = true, by_address = true;
};

// --- what a tool may touch --------------------------------------------------------------------

// One entry of `files`: a directory or file of the host, where it appears in the cell, and, for the
// file tools, which names below it are meant.
struct FileRule {
  std::string host;           // absolute
  std::string inside;         // absolute
  std::optional<Glob> names;  // below `host`; none: everything
  std::string names_text;
  Place place;
};

// What a local user who calls a tool may show it of their own (`run --via --read`).
enum class ClientFiles : std::uint8_t { none, read, write };

struct FileRules {
  std::vector<FileRule> read, write;
  WriteMode write_mode = WriteMode::direct;
  ClientFiles client = ClientFiles::none;
};

// A glob over absolute host paths: "/etc/shadow", "/**/.ssh/**".
struct DenyRule {
  std::string text;
  Glob glob;  // of the path without its leading '/'
};

struct HostRule {
  HostPattern host;
  std::uint16_t port = 443;
  std::string scheme = "https";
  bool internal = false;
  bool inspect = false;
  std::string address;
  std::vector<std::string> methods, paths;
  Place place;
};

// A secret that a tool may use without seeing it.
struct Credential {
  std::string name;
  Place place;
  std::string from;    // "file:/PATH", "env:NAME", "command:/PATH WORD…", "vault:PATH#FIELD"
  std::string inject;  // as the policy has it: "bearer", "header:X-Key"; empty: by placeholder only
  std::string env;     // the variable with the placeholder
  std::string shape;   // how that begins
  std::vector<std::string> places{};  // where it may stand: "header:NAME", "query:NAME"
  std::vector<HostRule> to;
  std::vector<std::string> methods, paths;
  std::optional<unsigned> uses;     // of one call
  std::optional<Duration> expires;  // after the call has begun
  std::optional<Duration> refresh;  // how often the source is looked at
};

struct NetworkRules {
  std::vector<HostRule> allow;  // empty: no network
  std::vector<HostPattern> deny;
  std::optional<unsigned> requests, connections;
  std::optional<ByteSize> upload, download;
  std::optional<Duration> time;  // of one connection
};

enum class Tier { inline_call, thread, process, wasm, container, vm };
[[nodiscard]] std::string_view name_of(Tier tier);

// --- arguments -----------------------------------------------------------------------------------

// How the text of an argument is made safe, beside its JSON Schema.
enum class ArgumentType { json, string, path, sql_identifier, url, host, command };

struct Argument {
  std::string name;
  Place place;
  ArgumentType type = ArgumentType::json;
  Schema schema;                        // of the value as it comes from the caller
  json::object definition;              // the same as a JSON Schema, for models and editors
  std::optional<json::value> fallback;  // `default`
  bool optional = false;                // may be missing although it has no default
  bool dash = false;                    // may begin with '-' as an element of an argv
  bool multiline = false;               // string: may hold line ends
  std::uint64_t max_length = 1000;      // string and everything that is text
  std::string below;                    // path: the directory that it must lie in, on the host
  bool exists = true;                   // path: it must be there already
  std::vector<std::string> schemes;     // url
  std::vector<HostPattern> hosts;       // url, host: none of them means any
};

// --- tools
// -----------------------------------------------------------------------------------------

enum class Builtin {
  run_python,
  run_javascript,
  run_shell,
  run_command,
  read_file,
  write_file,
  edit_file,
  list_files,
  search_files,
  http_fetch,
  sql,
};
[[nodiscard]] std::string_view name_of(Builtin builtin);

enum class ToolKind { builtin, command, http, mcp, function };

// One element of an argv, or a string inside a body: literal text and at most one placeholder that
// is the whole of it, or several within it.
struct Template {
  struct Piece {
    std::string text;      // literal, when `argument` is empty
    std::string argument;  // the name of an argument; "arguments" is all of them as JSON
  };
  std::vector<Piece> pieces;
  // The one placeholder that this is, and nothing else.
  [[nodiscard]] const std::string* whole() const {
    return pieces.size() == 1 && !pieces[0].argument.empty() ? &pieces[0].argument : nullptr;
  }
};

// The path and the query of the URL, the values of headers and the strings in the body may hold
// placeholders.
struct HttpRequestRule {
  std::string method, url;
  std::map<std::string, std::string> headers;
  json::value body;  // null: none
};

struct ApprovalRule {
  std::optional<Schema> when;  // over the arguments; none: always
  json::object when_text;
  std::vector<std::string> by;  // roles
  unsigned count = 1;
  Duration expires = std::chrono::minutes{15};
};

enum class ScreenAction { none, warn, approve, block };

struct OutputRules {
  std::optional<Schema> schema;
  json::value schema_text;
  std::vector<std::string> redact;
  std::vector<std::string> patterns;  // own redaction rules
  bool redact_blocks = false;         // a result with something to redact is refused
  std::optional<ByteSize> keep;       // of a text that is cut, as an artifact
  std::string injection;

  [[nodiscard]] bool redacts() const {
    return redact_blocks || !redact.empty() || !patterns.empty();
  }
};

struct Tool {
  std::string name;
  Place place;
  ToolKind kind = ToolKind::command;
  Builtin builtin = Builtin::run_python;  // of a built-in
  std::string description;
  std::vector<std::string> needs;
  Tier tier = Tier::process;
  std::vector<Argument> args;  // in the order of the file
  std::vector<Template> run;   // of a command
  HttpRequestRule http;
  std::vector<std::string> mcp;  // command line of an MCP server
  std::vector<std::string> mcp_tools;
  bool input_json = false;   // all arguments as one JSON object on standard input
  bool result_json = false;  // standard output is parsed, checked and returned as data
  std::vector<std::string> collect;
  std::map<std::string, std::string> environment;
  std::vector<CallRate> rates;  // of all callers of a tenant together
  std::optional<unsigned> concurrency;
  LimitRules limits;
  FileRules files;
  NetworkRules network;
  bool share_network = false;                  // dangerously_share_network
  std::string syscalls;                        // the name of a profile
  std::vector<std::string> require, prefer;    // kernel layers
  std::map<std::string, ScreenAction> screen;  // by category; "*" for all others
  bool warm = false;
  std::vector<std::string> preload;
  bool irreversible = false;
  std::optional<ApprovalRule> approval;
  std::vector<std::string> credentials;
  std::vector<Credential> granted;  // the same, as `credentials` of the policy describes them
  OutputRules output;
  std::string database;
  TableRules tables;
  std::optional<std::uint64_t> rows;
  CommandRules commands;             // of run_command
  std::vector<std::string> methods;  // of http_fetch; none: GET and HEAD

  [[nodiscard]] const Argument* find_argument(std::string_view name) const;
};

struct AuditRules {
  std::string arguments = "redacted";
  std::map<std::string, double> price;
};

// Cells that are made before their calls come, for each class of them (see launch/cell_pool.h).
struct PoolRules {
  unsigned min = 0;         // kept ready for as long as the service runs
  unsigned max = 32;        // never more than this; 0: nothing is made ahead of need
  ByteSize memory = 1_GiB;  // of all cells that wait, of all classes
  Duration idle = std::chrono::seconds{60};  // without a call, until the spare ones go
  bool operator==(const PoolRules&) const = default;
};

// One policy unit test.
struct PolicyTest {
  Place place, caller_place, tool_place;
  std::string caller, tool;
  json::object args;
  std::string expect;  // allowed, blocked, pending
  std::string reason;  // empty: any
};

// What nothing may exceed.
struct Ceiling {
  LimitRules limits;
  std::vector<DenyRule> deny_files;
  std::vector<HostPattern> deny_hosts;
};

struct Rules {
  std::string file;
  std::string hash;
  std::vector<PolicyProblem> warnings;
  std::map<std::string, Role, std::less<>> roles;
  std::map<std::string, Tenant, std::less<>> tenants;
  std::map<std::string, Caller, std::less<>> callers;
  std::optional<Lockout> lockout;
  Tool defaults;  // what a tool has that says nothing; every tool below holds it already
  Ceiling ceiling;
  std::map<std::string, Tool, std::less<>> tools;
  std::optional<VaultSettings> vault;  // where credentials may come from
  std::map<std::string, Credential, std::less<>> credentials;
  PoolRules pool;
  AuditRules audit;
  std::vector<PolicyTest> tests;
};

}  // namespace sallyport
