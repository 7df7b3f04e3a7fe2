#include "launch/wire.h"

#include <cstdint>

#include "base/wire.h"
#include "policy/limit_table.h"

namespace sallyport {
namespace {

constexpr std::uint32_t kClaimVersion = 0x35435053;    // "SPC5"
constexpr std::uint32_t kOutcomeVersion = 0x324f5053;  // "SPO2"

}  // namespace

// The descriptions stand in this namespace, where base/wire.h finds them by their arguments.

template <class Wire>
void visit(Wire& wire, Limits& limits) {
#define SALLYPORT_VISIT_LIMIT(name, type, sentence) visit(wire, limits.name);
  SALLYPORT_LIMITS(SALLYPORT_VISIT_LIMIT)
#undef SALLYPORT_VISIT_LIMIT
}

// ---- A claim. The bindings name every member: one that is added and forgotten here does not
// compile.

template <class Wire>
void visit(Wire& wire, Grant& grant) {
  auto& [host, inside, write, optional] = grant;
  visit(wire, host);
  visit(wire, inside);
  visit(wire, write);
  visit(wire, optional);
}

template <class Wire>
void visit(Wire& wire, InputFile& input) {
  auto& [host, name, content] = input;
  visit(wire, host);
  visit(wire, name);
  visit_optional(wire, content, [](Wire& to, std::string& bytes) { visit_bytes(to, bytes); });
}

template <class Wire>
void visit(Wire& wire, Requirement& requirement) {
  auto& [layer, level] = requirement;
  visit(wire, layer);
  visit(wire, level);
}

template <class Wire>
void visit(Wire& wire, ClientFile& file) {
  auto& [host, inside, write, fd] = file;
  (void)fd;
  visit(wire, host);
  visit(wire, inside);
  visit(wire, write);
}

template <class Wire>
void visit(Wire& wire, CellSpec& spec) {
  auto& [call_id, command, environment, grants, write_mode, inputs, outputs, output_directory, root,
         cwd, hostname, use_stdin, input, limits, syscalls, network, requirements, observation,
         warm, swept, uids, client] = spec;
  (void)observation;
  (void)swept;
  (void)uids;
  const auto each = [](Wire& to, auto& value) { visit(to, value); };
  visit(wire, call_id);
  visit(wire, command);
  visit_list(wire, environment, [](Wire& to, std::pair<std::string, std::string>& variable) {
    visit(to, variable.first);
    visit(to, variable.second);
  });
  visit_list(wire, grants, each);
  visit_enum(wire, write_mode, WriteMode::copy);
  visit_list(wire, inputs, each);
  visit(wire, outputs);
  visit(wire, output_directory);
  visit(wire, root);
  visit(wire, cwd);
  visit(wire, hostname);
  visit(wire, use_stdin);
  visit_optional(wire, input, [](Wire& to, std::string& bytes) { visit_bytes(to, bytes); });
  visit(wire, limits);
  visit(wire, syscalls);
  visit(wire, network);
  visit_list(wire, requirements, each);
  visit_enum(wire, warm.interpreter, Interpreter::node);
  visit(wire, warm.preload);
  visit_list(wire, client.files, each);
  visit(wire, client.uid);
}

template <class Wire>
void visit(Wire& wire, Claim& claim) {
  std::uint32_t version = kClaimVersion;
  visit(wire, version);
  if constexpr (Wire::kReads)
    if (version != kClaimVersion) return wire.refuse();
  visit(wire, claim.tenant);
  visit(wire, claim.spec);
}

// ---- An outcome

template <class Wire>
void visit(Wire& wire, Usage& usage) {
  auto& [wall, user, system, peak, processes, read, written, output, final] = usage;
  visit(wire, wall);
  visit(wire, user);
  visit(wire, system);
  visit(wire, peak);
  visit(wire, processes);
  visit(wire, read);
  visit(wire, written);
  visit(wire, output);
  visit(wire, final);
}

// In the order of its keys, each of them once.
template <class Wire>
void visit_counts(Wire& wire, std::map<std::string, std::uint64_t>& counts) {
  std::vector<std::pair<std::string, std::uint64_t>> list(counts.begin(), counts.end());
  visit_list(wire, list, [](Wire& to, std::pair<std::string, std::uint64_t>& row) {
    visit_bytes(to, row.first);
    visit(to, row.second);
  });
  if constexpr (Wire::kReads) {
    counts.clear();
    for (auto& row : list) {
      if (!counts.empty() && row.first <= counts.rbegin()->first) return wire.refuse();
      counts.insert(std::move(row));
    }
  }
}

template <class Wire>
void visit(Wire& wire, Outcome& outcome) {
  std::uint32_t version = kOutcomeVersion;
  visit(wire, version);
  if constexpr (Wire::kReads)
    if (version != kOutcomeVersion) return wire.refuse();
  auto& [call_id, status, reason, message, hint, output, error, exit_code, truncated, limits_hit,
         refused_syscalls, artifacts, findings, network, usage, layers, timings] = outcome;
  visit_bytes(wire, call_id);
  visit_enum(wire, status, Status::pending);
  visit_enum(wire, reason, Reason::internal);
  for (std::string* text : {&message, &hint, &output, &error})
    visit_bytes(wire, *text);
  visit(wire, exit_code);
  visit(wire, truncated);
  visit(wire, limits_hit);
  visit_counts(wire, refused_syscalls);
  visit_list(wire, artifacts, [](Wire& to, Artifact& artifact) {
    auto& [name, size] = artifact;
    visit_bytes(to, name);
    visit(to, size);
  });
  visit_list(wire, findings, [](Wire& to, Finding& finding) {
    auto& [kind, path, why] = finding;
    for (std::string* text : {&kind, &path, &why})
      visit_bytes(to, *text);
  });
  visit_list(wire, network, [](Wire& to, NetworkEvent& event) { visit(to, event); });
  visit(wire, usage);
  visit_list(wire, layers, [](Wire& to, Layer& layer) {
    auto& [name, value, in_force, level] = layer;
    visit_bytes(to, name);
    visit_bytes(to, value);
    visit(to, in_force);
    visit(to, level);
  });
  visit_list(wire, timings, [](Wire& to, Timing& timing) {
    auto& [step, microseconds] = timing;
    visit_bytes(to, step);
    visit(to, microseconds);
  });
}

Result<std::string> encode(const Claim& claim) {
  return write_wire(claim, kLargestClaim, "the call");
}

Result<std::string> encode(const Outcome& outcome) {
  return write_wire(outcome, kLargestOutcome, "the outcome");
}

Result<Claim> decode_claim(std::string_view bytes) {
  return read_wire<Claim>(bytes, kLargestClaim, "a claim");
}

Result<Outcome> decode_outcome(std::string_view bytes) {
  return read_wire<Outcome>(bytes, kLargestOutcome, "an outcome");
}

}  // namespace sallyport
