#include "cell/result_json.h"

#include <boost/json.hpp>

#include "base/text.h"

namespace sallyport {
namespace {

namespace json = boost::json;

constexpr std::size_t kMostMembers = 32;  // with those that a call adds

json::object usage_object(const Outcome& outcome) {
  const Usage& usage = outcome.usage;
  std::uint64_t requests = 0, bytes = 0;
  for (const NetworkEvent& event : outcome.network) {
    requests += event.kind != "name" && event.verdict == "allowed" ? 1 : 0;
    bytes += event.sent + event.received;
  }
  json::object object{
      {"wall_us", usage.wall_us},
      {"cpu_user_us", usage.cpu_user_us},
      {"cpu_system_us", usage.cpu_system_us},
      {"peak_memory_bytes", usage.peak_memory_bytes},
      {"processes", usage.processes},
      {"output_bytes", usage.output_bytes},
      {"network_requests", requests},
      {"network_bytes", bytes},
      {"final", usage.final},
  };
  if (usage.read_bytes) object["read_bytes"] = *usage.read_bytes;
  if (usage.write_bytes) object["write_bytes"] = *usage.write_bytes;
  return object;
}

json::object isolation_object(const std::vector<Layer>& layers) {
  json::object in_force;
  for (const Layer& layer : layers)
    in_force[layer.name] = layer.value;
  return {{"tier", "process"}, {"layers", std::move(in_force)}};
}

}  // namespace

json::array network_array(const std::vector<NetworkEvent>& events) {
  json::array list;
  list.reserve(events.size());
  for (const NetworkEvent& event : events) {
    json::object row{
        {"kind", event.kind}, {"verdict", event.verdict}, {"host", to_utf8(event.host)}};
    if (event.port != 0) row["port"] = event.port;
    if (!event.address.empty()) row["address"] = event.address;
    if (event.kind != "name") {
      row["sent"] = event.sent;
      row["received"] = event.received;
    }
    if (!event.rule.empty()) row["rule"] = to_utf8(event.rule);
    if (!event.why.empty()) row["why"] = to_utf8(event.why);
    list.push_back(std::move(row));
  }
  return list;
}

json::object result_object(const Outcome& outcome) {
  json::object object;
  object.reserve(kMostMembers);
  object["call_id"] = outcome.call_id;
  object["status"] = name_of(outcome.status);
  if (outcome.reason != Reason::none) object["reason"] = name_of(outcome.reason);
  if (!outcome.message.empty()) object["message"] = to_utf8(outcome.message);
  if (!outcome.hint.empty()) object["hint"] = to_utf8(outcome.hint);
  object["output"] = to_utf8(outcome.output);
  object["error"] = to_utf8(outcome.error);
  if (outcome.exit_code) object["exit_code"] = *outcome.exit_code;
  object["truncated"] = outcome.truncated;

  json::array limits;
  for (const std::string& name : outcome.limits_hit)
    limits.emplace_back(name);
  object["limits_hit"] = std::move(limits);
  json::object refused;
  for (const auto& [name, count] : outcome.refused_syscalls)
    refused[name] = count;
  object["refused_syscalls"] = std::move(refused);
  json::array artifacts;
  for (const Artifact& artifact : outcome.artifacts)
    artifacts.push_back(json::object{{"name", to_utf8(artifact.name)}, {"size", artifact.size}});
  object["artifacts"] = std::move(artifacts);
  json::array findings;
  for (const Finding& finding : outcome.findings)
    findings.push_back(json::object{
        {"kind", finding.kind}, {"path", to_utf8(finding.path)}, {"why", to_utf8(finding.why)}});
  object["findings"] = std::move(findings);
  if (!outcome.network.empty()) object["network"] = network_array(outcome.network);

  object["usage"] = usage_object(outcome);
  object["execution_ms"] = (outcome.usage.wall_us + 500) / 1000;
  object["isolation"] = isolation_object(outcome.layers);
  return object;
}

std::string result_json(const Outcome& outcome) {
  return json::serialize(result_object(outcome));
}

}  // namespace sallyport
