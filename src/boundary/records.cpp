#include "boundary/records.h"

#include <algorithm>
#include <cmath>

#include "audit/record_builder.h"
#include "base/sha256.h"
#include "base/text.h"
#include "boundary/redactions.h"
#include "boundary/shown_text.h"
#include "cell/result_json.h"

namespace sallyport {
namespace {

constexpr std::size_t kLongestName = 256;   // of a caller or tool that need not exist
constexpr std::size_t kMostFindings = 100;  // of one call

std::string name(std::string_view text) {
  return to_utf8(text.substr(0, kLongestName));
}

// The same; what is not UTF-8 is replaced in the whole record.
void add_name(RecordBuilder& record, JsonKey key, std::string_view text) {
  record.text(key, text.substr(0, kLongestName));
}

void add_if_any(RecordBuilder& record, JsonKey key, std::string_view value) {
  if (!value.empty()) record.text(key, value);
}
void add_name_if_any(RecordBuilder& record, JsonKey key, std::string_view text) {
  if (!text.empty()) add_name(record, key, text);
}

template <class List>
void add_list_if_any(RecordBuilder& record, JsonKey key, const List& list) {
  if (!list.empty()) record.value(key, json::value_from(list));
}

json::array names_of(const json::object& arguments) {
  json::array names;
  for (const auto& argument : arguments)
    names.emplace_back(argument.key());
  return names;
}

// Only validated values are shown; the request of a call that was refused could hold anything.
void add_shown_arguments(const Passage& passage, RecordBuilder& record) {
  const std::string& way = passage.shared.rules.audit.arguments;
  if (way == "full") {
    record.object("arguments", passage.arguments);
  } else if (way == "redacted") {
    const auto redactions = record_redactions();
    unsigned char room[1024];
    json::monotonic_resource memory(room);  // small enough for the stack, nearly always
    json::object shown(passage.arguments, &memory);
    RedactionCounts ignored;
    // The names are the policy's own.
    const bool good = redactions && std::ranges::all_of(shown, [&](auto& argument) {
                        return make_shown(*redactions, argument.value(), ignored);
                      });
    if (good)
      record.object("arguments", shown);
    else
      record.value("argument_names", names_of(passage.arguments));
  }
}

// The digest is there whatever the policy says: two calls can be compared, and a call can be proved
// to have had certain arguments, without showing them to whoever reads the log.
void add_arguments_digest(const Passage& passage, const json::object& arguments,
                          RecordBuilder& record) {
  std::string text;
  append_canonical_json(text, arguments);
  record.text("arguments_hmac", Sha256Text(hmac_sha256(passage.shared.digest_key, text)).view());
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

void add_usage(const Usage& usage, RecordBuilder& record) {
  CanonicalObject object = record.object("usage");
  object.number("cpu_system_us", usage.cpu_system_us);
  object.number("cpu_user_us", usage.cpu_user_us);
  object.flag("final", usage.final);
  object.number("output_bytes", usage.output_bytes);
  object.number("peak_memory_bytes", usage.peak_memory_bytes);
  object.number("processes", usage.processes);
  if (usage.read_bytes) object.number("read_bytes", *usage.read_bytes);
  object.number("wall_us", usage.wall_us);
  if (usage.write_bytes) object.number("write_bytes", *usage.write_bytes);
  object.close();
}

// Of all that goes back to the caller, whole.
Sha256Text output_digest(const CallResult& result) {
  std::string all = std::to_string(result.output.size());
  all.append(" ").append(std::to_string(result.error.size())).append("\n");
  all.append(result.output).append(result.error);
  if (result.data) append_canonical_json(all, *result.data);
  return Sha256Text(sha256(all));
}

void add_artifacts(const CallResult& result, RecordBuilder& record) {
  if (result.artifacts.empty()) return;
  json::array artifacts;
  for (const Artifact& artifact : result.artifacts) {
    if (artifacts.size() == kMostFindings) break;
    artifacts.push_back(json::object{{"name", name(artifact.name)}, {"size", artifact.size}});
  }
  record.value("artifacts", artifacts);
}

void add_findings(const CallResult& result, RecordBuilder& record) {
  if (result.findings.empty()) return;
  json::array findings;
  for (const Finding& finding : result.findings) {
    if (findings.size() == kMostFindings) break;
    findings.push_back(json::object{{"kind", finding.kind}, {"path", name(finding.path)}});
  }
  record.value("findings", findings);
}

// A call that asked nothing of the network has no such list; one that did says what nobody saw.
// The names are the tool's, which may put anything into them.
void add_network(const Passage& passage, RecordBuilder& record) {
  if (passage.network.empty()) return;
  const auto redactions = record_redactions();
  std::vector<NetworkEvent> events = passage.network;
  RedactionCounts ignored;
  for (NetworkEvent& event : events)
    if (!redactions || !make_shown(*redactions, event.host, ignored)) event.host = "(not shown)";
  record.value("network", network_array(events));
  record.text("network_unseen", "attempts at raw addresses are refused by the kernel");
}

void add_layers(const CallResult& result, RecordBuilder& record) {
  if (result.layers.empty()) return;
  json::object layers;
  for (const Layer& layer : result.layers)
    layers[layer.name] = layer.value;
  record.value("layers", layers);
}

void add_refused_syscalls(const CallResult& result, RecordBuilder& record) {
  if (result.refused_syscalls.empty()) return;
  json::object refused;
  for (const auto& [call, count] : result.refused_syscalls)
    refused[call] = count;
  record.value("refused_syscalls", refused);
}

void add_stages(const Passage& passage, RecordBuilder& record) {
  CanonicalObject stages = record.object("stages");
  std::string key;
  for (const Timing& stage : passage.stages)
    stages.number(JsonKey::of(key.assign(stage.step).append("_us")), stage.microseconds);
  stages.close();
}

// Who called, at the beginning and the end of the keys.
void add_caller(const Passage& passage, RecordBuilder& record) {
  record.text("call_id", passage.result.call_id);
  add_name(record, "caller", passage.request.caller);
}
// What it showed of its own. The launcher runs nothing for which this is not true.
void add_client(const Passage& passage, RecordBuilder& record) {
  if (!passage.request.client) return;
  json::array files;
  for (const CallClientFile& file : passage.request.client->files)
    files.push_back(json::object{{"inside", name(file.inside)},
                                 {"mode", file.write ? "write" : "read"},
                                 {"path", name(file.path)}});
  record.value("client",
               json::object{{"files", std::move(files)}, {"uid", passage.request.client->uid}});
}
void add_tool(const Passage& passage, RecordBuilder& record) {
  add_name(record, "tool", passage.request.tool);
  add_name_if_any(record, "trace", passage.request.trace);
}

// A record is made of many parts; what goes wrong in one of them refuses this call and no other.
Result<DraftRecord> build(const auto& add_members, DraftRecord used = {}) try {
  RecordBuilder record(std::move(used));
  add_members(record);
  return record.finish();
} catch (const std::exception& error) {
  return fail(Reason::unavailable, std::string("the record cannot be written: ") + error.what());
}

}  // namespace

Result<DraftRecord> intent_record(const Passage& passage, std::string_view writer) {
  return build([&](RecordBuilder& record) {
    add_if_any(record, "address", passage.address);
    add_shown_arguments(passage, record);
    add_arguments_digest(passage, passage.arguments, record);
    add_caller(passage, record);
    add_client(passage, record);
    record.text("decision", "allowed");
    record.text("envelope", passage.envelope->hash);
    add_list_if_any(record, "grants", passage.tool->credentials);
    add_name_if_any(record, "key", passage.request.key_id);
    record.text("policy", passage.shared.rules.hash);
    record.text("record", "intent");
    record.text("tenant", passage.caller->tenant);
    add_tool(passage, record);
    record.text("writer", writer);
  });
}

Result<DraftRecord> outcome_record(const Passage& passage, DraftRecord used) {
  const CallResult& result = passage.result;
  const bool ran = !result.tier.empty();
  return build(
      [&](RecordBuilder& record) {
        add_if_any(record, "address", passage.address);
        // A call that was refused has no other record.
        if (result.status == Status::blocked || result.status == Status::pending)
          add_arguments_digest(passage, passage.request.arguments, record);
        if (ran) add_artifacts(result, record);
        add_caller(passage, record);
        add_client(passage, record);
        if (ran)
          if (const auto cost = cost_of(result, passage.shared.rules.audit.price))
            record.value("cost", *cost);
        if (passage.purpose == Passage::Purpose::dry_run) record.flag("dry_run", true);
        if (result.exit_code) record.number("exit_code", *result.exit_code);
        if (ran) add_findings(result, record);
        add_name_if_any(record, "key", passage.request.key_id);
        if (ran) add_layers(result, record);
        if (ran) add_list_if_any(record, "limits_hit", result.limits_hit);
        add_list_if_any(record, "missing", result.missing);
        if (ran) add_network(passage, record);
        if (ran) record.text("output_sha256", output_digest(result).view());
        record.text("policy", passage.shared.rules.hash);
        if (result.reason != Reason::none) record.text("reason", name_of(result.reason));
        record.text("record", "outcome");
        if (ran) add_list_if_any(record, "redactions", result.redactions);
        if (ran) add_refused_syscalls(result, record);
        add_if_any(record, "rule", result.rule);
        add_stages(passage, record);
        record.text("status", name_of(result.status));
        if (passage.caller != nullptr) record.text("tenant", passage.caller->tenant);
        if (ran) record.text("tier", result.tier);
        add_tool(passage, record);
        if (ran && result.truncated) record.flag("truncated", true);
        if (ran) add_usage(result.usage, record);
      },
      std::move(used));
}

}  // namespace sallyport
