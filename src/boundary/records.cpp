#include "boundary/records.h"

#include <array>
#include <cmath>

#include "base/sha256.h"
#include "base/text.h"
#include "boundary/redactions.h"
#include "boundary/shown_text.h"

namespace sallyport {
namespace {

constexpr std::size_t kLongestName = 256;   // of a caller or tool that need not exist
constexpr std::size_t kMostFindings = 100;  // of one call

std::string name(std::string_view text) {
  return to_utf8(text.substr(0, kLongestName));
}

json::object call_record(std::string_view kind, const Passage& passage) {
  json::object record{{"record", kind},
                      {"call_id", passage.result.call_id},
                      {"caller", name(passage.request.caller)},
                      {"tool", name(passage.request.tool)},
                      {"policy", passage.shared.rules.hash}};
  if (passage.caller != nullptr) record["tenant"] = passage.caller->tenant;
  if (!passage.address.empty()) record["address"] = passage.address;
  if (!passage.request.key_id.empty()) record["key"] = name(passage.request.key_id);
  if (passage.purpose == Passage::Purpose::dry_run) record["dry_run"] = true;
  if (!passage.request.trace.empty()) record["trace"] = name(passage.request.trace);
  return record;
}

json::array names_of(const json::object& arguments) {
  json::array names;
  for (const auto& argument : arguments)
    names.emplace_back(argument.key());
  return names;
}

// What was asked for. The digest is there whatever the policy says: two calls can be compared, and
// a call can be proved to have had certain arguments, without showing them to whoever reads the
// log. Only validated values are shown; the request of a call that was refused could hold anything.
void add_arguments(const Passage& passage, const json::object& arguments, bool validated,
                   json::object& record) {
  record["arguments_hmac"] =
      hmac_sha256_hex(passage.shared.digest_key, canonical_json(json::value(arguments)));
  const std::string& way = passage.shared.rules.audit.arguments;
  if (way == "full" && validated) {
    record["arguments"] = arguments;
  } else if (way == "redacted" && validated) {
    json::value shown(arguments);
    RedactionCounts ignored;
    const auto redactions = record_redactions();
    if (redactions && make_shown(*redactions, shown, ignored))
      record["arguments"] = std::move(shown);
    else
      record["argument_names"] = names_of(arguments);
  }
}

// Prices are per unit, in whatever currency the policy thinks in.
std::optional<double> cost_of(const CallResult& result,
                              const std::map<std::string, double>& price) {
  if (price.empty()) return std::nullopt;
  const Usage& usage = result.usage;
  const double hours = static_cast<double>(usage.wall_us) / 3.6e9;
  const double gib = static_cast<double>(usage.peak_memory_bytes) / (1 << 30);
  const std::pair<std::string_view, double> units[] = {
      {"call", 1.0},
      {"cpu_hour", static_cast<double>(usage.cpu_user_us + usage.cpu_system_us) / 3.6e9},
      {"wall_hour", hours},
      {"memory_gib_hour", gib * hours},
      {"output_gb", static_cast<double>(usage.output_bytes) / 1e9},
  };
  double cost = 0;
  for (const auto& [unit, amount] : units)
    if (const auto found = price.find(std::string(unit)); found != price.end())
      cost += found->second * amount;
  return std::round(cost * 1e9) / 1e9;  // a record is no place for rounding noise
}

json::object usage_record(const Usage& usage) {
  json::object record{{"wall_us", usage.wall_us},
                      {"cpu_user_us", usage.cpu_user_us},
                      {"cpu_system_us", usage.cpu_system_us},
                      {"peak_memory_bytes", usage.peak_memory_bytes},
                      {"processes", usage.processes},
                      {"output_bytes", usage.output_bytes},
                      {"final", usage.final}};
  if (usage.read_bytes) record["read_bytes"] = *usage.read_bytes;
  if (usage.write_bytes) record["write_bytes"] = *usage.write_bytes;
  return record;
}

// Of all that goes back to the caller, whole.
std::string output_digest(const CallResult& result) {
  std::string all = std::to_string(result.output.size()) + " " +
                    std::to_string(result.error.size()) + "\n" + result.output + result.error;
  if (result.data) all += canonical_json(*result.data);
  return sha256_hex(all);
}

void add_run(const Passage& passage, json::object& record) {
  const CallResult& result = passage.result;
  record["tier"] = result.tier;
  record["usage"] = usage_record(result.usage);
  record["output_sha256"] = output_digest(result);
  if (result.truncated) record["truncated"] = true;
  if (!result.redactions.empty()) record["redactions"] = json::value_from(result.redactions);
  if (!result.limits_hit.empty()) record["limits_hit"] = json::value_from(result.limits_hit);
  if (!result.layers.empty()) {
    json::object layers;
    for (const Layer& layer : result.layers)
      layers[layer.name] = layer.value;
    record["layers"] = std::move(layers);
  }
  if (!result.refused_syscalls.empty()) {
    json::object refused;
    for (const auto& [call, count] : result.refused_syscalls)
      refused[call] = count;
    record["refused_syscalls"] = std::move(refused);
  }
  if (!result.findings.empty()) {
    json::array findings;
    for (const Finding& finding : result.findings) {
      if (findings.size() == kMostFindings) break;
      findings.push_back(json::object{{"kind", finding.kind}, {"path", name(finding.path)}});
    }
    record["findings"] = std::move(findings);
  }
  if (!result.artifacts.empty()) {
    json::array artifacts;
    for (const Artifact& artifact : result.artifacts) {
      if (artifacts.size() == kMostFindings) break;
      artifacts.push_back(json::object{{"name", name(artifact.name)}, {"size", artifact.size}});
    }
    record["artifacts"] = std::move(artifacts);
  }
  if (const auto cost = cost_of(result, passage.shared.rules.audit.price)) record["cost"] = *cost;
}

}  // namespace

json::object intent_record(const Passage& passage) {
  json::object record = call_record("intent", passage);
  record["envelope"] = passage.envelope->hash;
  record["decision"] = "allowed";
  add_arguments(passage, passage.arguments, true, record);
  return record;
}

json::object outcome_record(const Passage& passage) {
  const CallResult& result = passage.result;
  json::object record = call_record("outcome", passage);
  record["status"] = name_of(result.status);
  if (result.reason != Reason::none) record["reason"] = name_of(result.reason);
  if (!result.rule.empty()) record["rule"] = result.rule;
  if (!result.missing.empty()) record["missing"] = json::value_from(result.missing);
  if (result.exit_code) record["exit_code"] = *result.exit_code;
  // A call that was refused has no other record.
  if (result.status == Status::blocked || result.status == Status::pending)
    add_arguments(passage, passage.request.arguments, false, record);
  if (!result.tier.empty()) add_run(passage, record);
  json::object stages;
  for (const Timing& stage : passage.stages)
    stages[stage.step + "_us"] = stage.microseconds;
  record["stages"] = std::move(stages);
  return record;
}

}  // namespace sallyport
