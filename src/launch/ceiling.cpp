#include "launch/ceiling.h"

#include <algorithm>
#include <set>

#include "base/glob.h"
#include "base/text.h"
#include "launch/expected_classes.h"
#include "policy/limit_value.h"
#include "policy/network_access.h"
#include "tool/cell_call.h"
#include "tool/database_grants.h"
#include "tool/file_order.h"

namespace sallyport {
namespace {

constexpr std::size_t kMostWords = 4096;  // of a command, of an environment
constexpr std::size_t kMostInputs = 300;  // a call has 256 files at most, and its program
constexpr std::size_t kMostGlobs = 256;
constexpr std::size_t kLongestName = 1000;  // of an input

std::unexpected<Error> refuse(std::string what) {
  return fail(Reason::cannot_enforce, "the launcher refused the call: " + std::move(what),
              "the launcher holds every call to the policy file that it was started with; if the "
              "file has changed, have it loaded again");
}

// ---- From the policy

void add_place(std::vector<LaunchCeiling::Place>& places, const FileRule& rule, bool write,
               WriteMode mode) {
  auto place = std::ranges::find_if(places, [&](const LaunchCeiling::Place& there) {
    return there.host == rule.host && there.inside == rule.inside;
  });
  if (place == places.end())
    place = places.insert(places.end(), {.host = rule.host, .inside = rule.inside});
  if (!write) return;
  (mode == WriteMode::copy ? place->write_copy : place->write_direct) = true;
}

template <class Value>
void own_or(Value& value, const std::optional<Value>& own) {
  if (own) value = *own;
}
void own_or(std::optional<Rate>& value, const std::optional<Rate>& own) {
  value = own;
}

template <class Value>
void widen(Value& most, const Value& other) {
  most = std::max(most, other);
}
// None is the widest.
void widen(std::optional<Rate>& most, const std::optional<Rate>& other) {
  most = most && other ? std::max(most, other) : std::nullopt;
}

template <class Value>
void narrow(Value& most, const std::optional<Value>& ceiling) {
  if (ceiling) most = std::min(most, *ceiling);
}
void narrow(std::optional<Rate>& most, const std::optional<Rate>& ceiling) {
  if (ceiling) most = most ? std::min(*most, *ceiling) : *ceiling;
}

// The greatest that any tool has before tenants, roles and callers narrow it.
Limits greatest_limits(const Rules& rules) {
  std::optional<Limits> greatest;
  for (const auto& [name, tool] : rules.tools) {
    Limits limits;
#define SALLYPORT_OWN(limit, type, sentence) own_or(limits.limit, tool.limits.limit);
    SALLYPORT_LIMITS(SALLYPORT_OWN)
#undef SALLYPORT_OWN
    if (!greatest) {
      greatest = limits;
      continue;
    }
#define SALLYPORT_WIDEN(limit, type, sentence) widen(greatest->limit, limits.limit);
    SALLYPORT_LIMITS(SALLYPORT_WIDEN)
#undef SALLYPORT_WIDEN
  }
  Limits most = greatest.value_or(Limits{});
#define SALLYPORT_NARROW(limit, type, sentence) narrow(most.limit, rules.ceiling.limits.limit);
  SALLYPORT_LIMITS(SALLYPORT_NARROW)
#undef SALLYPORT_NARROW
  // Cells keep more of the output than comes back; see captured_output().
  std::uint64_t kept = std::max(most.max_output.bytes, most.max_result.bytes + 1);
  for (const auto& [name, tool] : rules.tools)
    kept = std::max(kept, captured_output(tool, most).bytes);
  most.max_output = {kept};
  return most;
}

// ---- A claim

template <class Value>
bool is_wider(const Value& asked, const Value& most) {
  return asked > most;
}
bool is_wider(const std::optional<Rate>& asked, const std::optional<Rate>& most) {
  return most && (!asked || *asked > *most);
}
// Zero bytes, or files, of a file system mean as many as there are.
template <class Value>
bool is_none(const Value& asked) {
  return asked == Value{};
}
bool is_none(const std::optional<Rate>&) {
  return false;
}
template <class Value>
std::string shown(const Value& value) {
  return limit_text(value);
}
std::string shown(const std::optional<Rate>& value) {
  return value ? limit_text(*value) : "no limit";
}

Result<void> check_limits(const Limits& most, const Limits& asked) {
#define SALLYPORT_CHECK(limit, type, sentence)                                                 \
  if (is_none(asked.limit)) return refuse("a limit " #limit " of zero is none to the kernel"); \
  if (is_wider(asked.limit, most.limit))                                                       \
    return refuse("the limit " #limit " of " + shown(asked.limit) +                            \
                  " is wider than any that the policy has, " + shown(most.limit));
  SALLYPORT_LIMITS(SALLYPORT_CHECK)
#undef SALLYPORT_CHECK
  return {};
}

Result<void> check_grant(const LaunchCeiling& ceiling, const Grant& grant, WriteMode mode) {
  if (grant.inside == kProgramInside && !grant.write && !ceiling.program.empty() &&
      grant.host == ceiling.program)
    return {};
  // Word for word: a path in another spelling is another path.
  const auto place = std::ranges::find_if(ceiling.places, [&](const LaunchCeiling::Place& there) {
    return there.host == grant.host && there.inside == grant.inside;
  });
  if (place == ceiling.places.end())
    return refuse("no tool of the policy grants the path " + quoted(grant.host) + " at " +
                  quoted(grant.inside));
  if (!grant.write || (mode == WriteMode::copy ? place->write_copy : place->write_direct))
    return {};
  return refuse(
      "no tool of the policy lets the path " + quoted(grant.host) + " be written" +
      (place->write_copy ? " but through a copy" : (place->write_direct ? " through a copy" : "")));
}

Result<void> check_inputs(const CellSpec& spec) {
  if (spec.inputs.size() > kMostInputs)
    return refuse(std::to_string(spec.inputs.size()) + " files are too many");
  std::uint64_t size = 0;
  for (const InputFile& input : spec.inputs) {
    if (!input.content || !input.host.empty())
      return refuse("files come with their content, and " + quoted(input.name) +
                    " names a path of the host");
    if (input.name.empty() || input.name.starts_with('/') || input.name.size() > kLongestName ||
        irregular_component(input.name))
      return refuse("the file " + quoted(input.name) + " has no plain path below /workspace");
    size += input.content->size();
  }
  if (size > spec.limits.disk.bytes)
    return refuse("files of " + std::to_string(size) + " bytes are more than the scratch holds");
  return {};
}

Result<void> check_outputs(const CellSpec& spec, bool has_directory) {
  if (!spec.output_directory.empty())
    return refuse("the directory for artifacts comes as a descriptor, not by its path");
  if (spec.outputs.size() > kMostGlobs) return refuse("too many globs for artifacts");
  if (!spec.outputs.empty() && !has_directory)
    return refuse("there is no directory for the artifacts");
  for (const std::string& glob : spec.outputs)
    if (auto parsed = Glob::parse(glob); !parsed) return refuse(parsed.error().message);
  return {};
}

// The network of one tool, as the policy has it.
Result<void> check_network(const LaunchCeiling& ceiling, const EgressRules& asked) {
  if (asked.allow.empty()) return {};
  const bool known = std::ranges::any_of(ceiling.networks, [&](const EgressRules& network) {
    return asked.allow == network.allow && asked.deny == network.deny &&
           asked.grants == network.grants && asked.requests <= network.requests &&
           asked.connections <= network.connections && asked.upload <= network.upload &&
           asked.download <= network.download &&
           (network.time == Duration::zero() ||
            (asked.time > Duration::zero() && asked.time <= network.time));
  });
  if (known) return {};
  return refuse("no tool of the policy has the network that it asks for");
}

bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}
bool is_host_character(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '-';
}

// What launch steps and results are made of.
Result<void> check_words(const CellSpec& spec) {
  if (spec.call_id.size() != 32 || !std::ranges::all_of(spec.call_id, is_hex))
    return refuse("a call has an id of 32 hexadecimal digits");
  if (spec.command.empty() || spec.command.front().empty()) return refuse("there is no command");
  if (spec.command.size() > kMostWords || spec.environment.size() > kMostWords)
    return refuse("the command or its environment has too many words");
  for (const auto& [key, value] : spec.environment)
    if (key.empty() || key.contains('=')) return refuse("a variable has no plain name");
  if (spec.hostname.empty() || spec.hostname.size() > 63 ||
      !std::ranges::all_of(spec.hostname, is_host_character))
    return refuse(quoted(spec.hostname) + " is no name for a machine");
  if (auto cwd = parse_inside_path(spec.cwd); !cwd || *cwd != spec.cwd)
    return refuse(quoted(spec.cwd) + " is no plain path for a working directory");
  if (spec.use_stdin != spec.input.has_value())
    return refuse("standard input comes with the call, or there is none");
  return {};
}

}  // namespace

Result<LaunchCeiling> make_launch_ceiling(const Rules& rules, std::string program,
                                          const UidRange& uids) {
  LaunchCeiling ceiling;
  ceiling.program = std::move(program);
  ceiling.denied = rules.ceiling;
  ceiling.limits = greatest_limits(rules);
  ceiling.pool = rules.pool;
  std::set<std::string> profiles, tenants = {"default"};
  for (const auto& [name, tool] : rules.tools) {
    for (const FileRule& rule : tool.files.read)
      add_place(ceiling.places, rule, false, tool.files.write_mode);
    for (const FileRule& rule : tool.files.write)
      add_place(ceiling.places, rule, true, tool.files.write_mode);
    ceiling.connections = ceiling.connections || asks_server(tool);
    if (auto network = network_access(rules.ceiling, tool); !network.allow.empty())
      ceiling.networks.push_back(std::move(network));
    for (const Grant& grant : database_grants(tool))
      ceiling.places.push_back({.host = grant.host, .inside = grant.inside});
    if (tool.files.client != ClientFiles::none) {
      auto frame = command_frame(tool);
      if (!frame) return std::unexpected(std::move(frame.error()));
      frame->network = network_access(rules.ceiling, tool);
      ceiling.clients.push_back({.name = name,
                                 .write = tool.files.client == ClientFiles::write,
                                 .frame = std::move(*frame)});
    }
    if (const Warmth warm = warmth_of(tool); warm != Warmth{}) ceiling.warm.push_back(warm);
    profiles.insert(tool.syscalls.empty() ? CellSpec{}.syscalls : tool.syscalls);
  }
  ceiling.expected = expected_classes(rules, ceiling.program);
  ceiling.profiles.assign(profiles.begin(), profiles.end());
  for (const auto& [name, tenant] : rules.tenants)
    tenants.insert(name);
  for (const auto& [name, caller] : rules.callers)
    tenants.insert(caller.tenant);

  const auto share = static_cast<unsigned>(uids.count / tenants.size());
  if (share == 0)
    return fail(Reason::cannot_enforce,
                std::to_string(tenants.size()) + " tenants cannot share " +
                    std::to_string(uids.count) + " uids",
                "widen SALLYPORT_UID_RANGE=FIRST:COUNT");
  uid_t first = uids.first;
  for (const std::string& tenant : tenants) {
    ceiling.uids[tenant] = {.first = first, .count = share};
    first += share;
  }
  return ceiling;
}

Result<void> check_claim(const LaunchCeiling& ceiling, Claim& claim, CarriedThings carried) {
  CellSpec& spec = claim.spec;
  const auto uids = ceiling.uids.find(claim.tenant);
  if (uids == ceiling.uids.end()) return refuse("the policy has no tenant " + quoted(claim.tenant));
  if (auto checked = check_words(spec); !checked) return checked;
  for (const Grant& grant : spec.grants)
    if (auto checked = check_grant(ceiling, grant, spec.write_mode); !checked) return checked;
  if (!spec.root.empty() && std::ranges::find(ceiling.roots, spec.root) == ceiling.roots.end())
    return refuse("the policy has no root directory " + quoted(spec.root));
  if (std::ranges::find(ceiling.profiles, spec.syscalls) == ceiling.profiles.end())
    return refuse("no tool of the policy has the system call profile " + quoted(spec.syscalls));
  if (auto checked = check_limits(ceiling.limits, spec.limits); !checked) return checked;
  if (auto checked = check_inputs(spec); !checked) return checked;
  if (auto checked = check_outputs(spec, carried.directory); !checked) return checked;
  if (auto checked = check_network(ceiling, spec.network); !checked) return checked;
  if (spec.warm != Warmth{} && std::ranges::find(ceiling.warm, spec.warm) == ceiling.warm.end())
    return refuse("no tool of the policy has such an interpreter with these modules");
  if (carried.connection && !(ceiling.connections && spec.command == sql_tool_command()))
    return refuse("only the sql tool gets a connection, and only where the policy has a server");
  spec.observation = nullptr;
  spec.uids = uids->second;
  return {};
}

}  // namespace sallyport
