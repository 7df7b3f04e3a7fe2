#include "cell/result_json.h"

#include "base/base64.h"
#include "base/text.h"

namespace sallyport {
namespace {

constexpr std::size_t kUsualSize = 1000;

void add_usage(ObjectText& object, const Outcome& outcome) {
  const Usage& usage = outcome.usage;
  std::uint64_t requests = 0, bytes = 0;
  for (const NetworkEvent& event : outcome.network) {
    requests += event.kind != "name" && event.verdict == "allowed" ? 1 : 0;
    bytes += event.sent + event.received;
  }
  ObjectText inner = object.object("usage");
  inner.number("wall_us", usage.wall_us);
  inner.number("cpu_user_us", usage.cpu_user_us);
  inner.number("cpu_system_us", usage.cpu_system_us);
  inner.number("peak_memory_bytes", usage.peak_memory_bytes);
  inner.number("processes", usage.processes);
  inner.number("output_bytes", usage.output_bytes);
  inner.number("network_requests", requests);
  inner.number("network_bytes", bytes);
  inner.flag("final", usage.final);
  if (usage.read_bytes) inner.number("read_bytes", *usage.read_bytes);
  if (usage.write_bytes) inner.number("write_bytes", *usage.write_bytes);
  inner.close();
}

void add_isolation(ObjectText& object, const std::vector<Layer>& layers, std::string_view tier) {
  ObjectText inner = object.object("isolation");
  inner.text("tier", tier);
  ObjectText in_force = inner.object("layers");
  for (const Layer& layer : layers)
    in_force.text(JsonKey::of(layer.name), layer.value);
  in_force.close();
  inner.close();
}

void add_artifacts(ObjectText& object, const std::vector<Artifact>& artifacts,
                   const std::map<std::string, std::string>& collected) {
  object.list("artifacts", artifacts, [&](const Artifact& artifact) {
    const std::string name = to_utf8(artifact.name);
    ObjectText entry(object.out());
    entry.text("name", name);
    entry.number("size", artifact.size);
    // Text as it is, everything else so that it can be had back byte by byte.
    if (const auto content = collected.find(name); content != collected.end()) {
      if (is_utf8(content->second))
        entry.text("content", content->second);
      else
        entry.text("base64", to_base64(content->second));
    }
    entry.close();
  });
}

void add_findings(ObjectText& object, const std::vector<Finding>& findings) {
  object.list("findings", findings, [&](const Finding& finding) {
    ObjectText entry(object.out());
    entry.text("kind", finding.kind);
    entry.text("path", finding.path);
    entry.text("why", finding.why);
    entry.close();
  });
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
    if (!event.credential.empty()) row["credential"] = to_utf8(event.credential);
    list.push_back(std::move(row));
  }
  return list;
}

void add_outcome(ObjectText& object, const Outcome& outcome, std::string_view tier,
                 const std::map<std::string, std::string>& collected) {
  object.text("call_id", outcome.call_id);
  object.text("status", name_of(outcome.status));
  if (outcome.reason != Reason::none) object.text("reason", name_of(outcome.reason));
  if (!outcome.message.empty()) object.text("message", outcome.message);
  if (!outcome.hint.empty()) object.text("hint", outcome.hint);
  object.text("output", outcome.output);
  object.text("error", outcome.error);
  if (outcome.exit_code) object.number("exit_code", *outcome.exit_code);
  object.flag("truncated", outcome.truncated);
  object.list("limits_hit", outcome.limits_hit,
              [&](const std::string& name) { append_json_text(object.out(), name); });
  ObjectText refused = object.object("refused_syscalls");
  for (const auto& [name, count] : outcome.refused_syscalls)
    refused.number(JsonKey::of(name), count);
  refused.close();
  add_artifacts(object, outcome.artifacts, collected);
  add_findings(object, outcome.findings);
  if (!outcome.network.empty()) object.value("network", network_array(outcome.network));
  add_usage(object, outcome);
  object.number("execution_ms", (outcome.usage.wall_us + 500) / 1000);
  add_isolation(object, outcome.layers, tier);
}

std::string result_json(const Outcome& outcome) {
  std::string text;
  text.reserve(kUsualSize);
  ObjectText object(text);
  add_outcome(object, outcome, "process", {});
  object.close();
  return text;
}

}  // namespace sallyport
