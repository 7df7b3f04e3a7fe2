#include "sallyport/policy.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <tuple>

#include "base/fd.h"
#include "base/sha256.h"
#include "base/text.h"
#include "policy/load.h"
#include "policy/yaml.h"

namespace sallyport {
namespace {

constexpr std::size_t kMostProblems = 100;

void read_version(const Spot& at, Rules&) {
  if (const auto version = read_count(at, 0, 1'000'000); version && *version != 1)
    at.refuse("this is version " + std::to_string(*version) + " of the format",
              "this program reads version 1");
}

// The whole file, in the order in which its parts need each other.
constexpr Field<Rules> kPolicy[] = {
    {"version", R"({"const": 1})", "The version of the format, which is 1.", read_version,
     Presence::required},
    {"roles", R"({"type": "object", "additionalProperties": {"$ref": "#/$defs/role"}})",
     "Permissions by role.", read_roles},
    {"tenants", R"({"type": "object", "additionalProperties": {"$ref": "#/$defs/tenant"}})",
     "Groups of callers that share rates and a budget.", read_tenants},
    {"callers", R"({"type": "object", "additionalProperties": {"$ref": "#/$defs/caller"}})",
     "Who may call.", read_callers},
    {"lockout", R"({"$ref": "#/$defs/lockout"})",
     "Who is refused too often is refused everything for a time.", read_lockout},
    {"defaults", R"({"$ref": "#/$defs/defaults"})", "What a tool has that says nothing.",
     read_defaults},
    {"ceiling", R"({"$ref": "#/$defs/ceiling"})", "What nothing may exceed.", read_ceiling},
    {"tools", R"({"type": "object", "additionalProperties": {"$ref": "#/$defs/tool"}})",
     "What may be called.", read_tools},
    {"vault", R"({"$ref": "#/$defs/vault"})", "The Vault that credentials may come from.",
     read_vault},
    {"credentials", R"({"type": "object", "additionalProperties": {"$ref": "#/$defs/credential"}})",
     "Secrets that tools may use.", read_credentials},
    {"pool", R"({"$ref": "#/$defs/pool"})", "Cells that are made before their calls come.",
     read_pool},
    {"audit", R"({"$ref": "#/$defs/audit"})", "What is recorded of calls.", read_audit},
    {"tests", R"({"type": "array", "items": {"$ref": "#/$defs/test"}})",
     "Calls and what must be decided about them; `sallyport policy test` runs them.", read_tests},
};

std::string hash_of(json::value& meaning) {
  if (json::object* object = meaning.if_object()) object->erase("tests");
  return sha256_hex(canonical_json(meaning));
}

void put_in_order(std::vector<PolicyProblem>& problems) {
  std::ranges::sort(problems, {}, [](const PolicyProblem& problem) {
    return std::tuple<unsigned, unsigned, std::string_view, std::string_view>(
        problem.line, problem.column, problem.rule, problem.message);
  });
  if (problems.size() <= kMostProblems) return;
  PolicyProblem rest = problems[kMostProblems];
  rest.message = "and " + std::to_string(problems.size() - kMostProblems) + " more problems";
  rest.rule.clear();
  rest.hint = "mend those above first";
  problems.resize(kMostProblems);
  problems.push_back(std::move(rest));
}

std::vector<PolicyProblem> unreadable(const std::string& path, std::string why, std::string hint) {
  return {{path, 0, 0, {}, "the file cannot be read: " + std::move(why), std::move(hint)}};
}

// A policy is one regular file; a pipe or a device could keep the reader waiting or never end.
std::expected<std::string, std::vector<PolicyProblem>> read_whole(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd) return std::unexpected(unreadable(path, std::strerror(errno), ""));
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0)
    return std::unexpected(unreadable(path, std::strerror(errno), ""));
  if (!S_ISREG(status.st_mode))
    return std::unexpected(unreadable(path, "it is not a regular file", "name a file"));
  std::string text;
  char buffer[65536];
  while (text.size() <= kLargestPolicy) {
    const ssize_t count = ::read(fd.get(), buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::unexpected(unreadable(path, std::strerror(errno), ""));
    if (count == 0) break;
    text.append(buffer, static_cast<std::size_t>(count));
  }
  return text;
}

void forget_places(Node& node) {
  node.place = {};
  for (Node& item : node.items)
    forget_places(item);
  for (NodeEntry& entry : node.entries) {
    forget_places(entry.key);
    forget_places(entry.value);
  }
}

Node text_node(std::string_view text) {
  return {.text = std::string(text), .quoted = true};
}

// The value of a key, made if it is missing.
Node& at_key(Node& map, std::string_view key) {
  if (map.kind != Node::Kind::map) map = {.kind = Node::Kind::map};
  for (NodeEntry& entry : map.entries)
    if (entry.key.text == key) return entry.value;
  map.entries.push_back({text_node(key), {.kind = Node::Kind::map}});
  return map.entries.back().value;
}

}  // namespace

PolicyResult compile_policy(const Node& root, std::string_view file) try {
  auto rules = std::make_shared<Rules>();
  rules->file = file;
  rules->defaults.syscalls = "default";
  Notes notes{.file = std::string(file), .problems = {}, .warnings = {}};
  json::value meaning;
  read_section<Rules>(Spot(root, notes, &meaning), kPolicy, *rules);
  for (auto& [name, tool] : rules->tools)
    for (const std::string& credential : tool.credentials)
      if (const auto found = rules->credentials.find(credential); found != rules->credentials.end())
        tool.granted.push_back(found->second);
  check_rules(root, *rules, notes);
  put_in_order(notes.problems);
  if (!notes.problems.empty()) return std::unexpected(std::move(notes.problems));
  put_in_order(notes.warnings);
  rules->warnings = std::move(notes.warnings);
  rules->hash = hash_of(meaning);
  return Policy(std::move(rules));
} catch (const std::exception& error) {
  return std::unexpected(
      std::vector<PolicyProblem>{{std::string(file),
                                  0,
                                  0,
                                  {},
                                  std::string("the policy cannot be read: ") + error.what(),
                                  {}}});
}

PolicyResult Policy::load(const std::string& path) {
  auto text = read_whole(path);
  if (!text) return std::unexpected(std::move(text.error()));
  return parse(*text, path);
}

PolicyResult Policy::parse(std::string_view yaml, std::string_view file) try {
  auto root = parse_yaml(yaml, file);
  if (!root) return std::unexpected(std::move(root.error()));
  return compile_policy(*root, file);
} catch (const std::exception& error) {
  return std::unexpected(
      std::vector<PolicyProblem>{{std::string(file),
                                  0,
                                  0,
                                  {},
                                  std::string("the policy cannot be read: ") + error.what(),
                                  {}}});
}

const std::string& Policy::hash() const {
  return rules_->hash;
}

const std::vector<PolicyProblem>& Policy::warnings() const {
  return rules_->warnings;
}

std::string to_text(const PolicyProblem& problem) {
  std::string text = escape_for_terminal(problem.file);
  if (problem.line != 0)
    text.append(":")
        .append(std::to_string(problem.line))
        .append(":")
        .append(std::to_string(problem.column));
  text.append(text.empty() ? "" : ": ");
  if (!problem.rule.empty()) text.append(problem.rule).append(": ");
  text.append(problem.message);
  if (!problem.hint.empty()) text.append(" (").append(problem.hint).append(")");
  return text;
}

PolicyBuilder::PolicyBuilder() : root_(std::make_unique<Node>()) {
  root_->kind = Node::Kind::map;
  at_key(*root_, "version") = {.text = "1"};
}

PolicyBuilder::~PolicyBuilder() = default;

PolicyBuilder& PolicyBuilder::role(std::string_view name,
                                   std::initializer_list<std::string_view> permissions) {
  Node list{.kind = Node::Kind::list};
  for (const std::string_view permission : permissions)
    list.items.push_back(text_node(permission));
  at_key(at_key(at_key(*root_, "roles"), name), "permissions") = std::move(list);
  return *this;
}

PolicyBuilder& PolicyBuilder::caller(std::string_view name, std::string_view role,
                                     std::string_view tenant) {
  Node& caller = at_key(at_key(*root_, "callers"), name);
  at_key(caller, "role") = text_node(role);
  if (!tenant.empty()) {
    at_key(caller, "tenant") = text_node(tenant);
    (void)at_key(at_key(*root_, "tenants"), tenant);
  }
  return *this;
}

PolicyBuilder& PolicyBuilder::set(std::string_view place, std::string_view yaml) {
  auto value = parse_yaml(yaml, "policy");
  if (!value) {
    for (PolicyProblem& problem : value.error()) {
      problem.rule = place;
      problem.line = problem.column = 0;
      problems_.push_back(std::move(problem));
    }
    return *this;
  }
  forget_places(*value);
  Node* node = root_.get();
  for (std::string_view rest = place; !rest.empty();) {
    const std::size_t dot = rest.find('.');
    node = &at_key(*node, rest.substr(0, dot));
    rest.remove_prefix(dot == std::string_view::npos ? rest.size() : dot + 1);
  }
  if (node != root_.get()) *node = std::move(*value);
  return *this;
}

PolicyResult PolicyBuilder::build() const {
  if (!problems_.empty()) return std::unexpected(problems_);
  return compile_policy(*root_, "policy");
}

SectionText policy_section() {
  return {"policy", "The whole file.", texts_of<Rules>(kPolicy)};
}

}  // namespace sallyport
