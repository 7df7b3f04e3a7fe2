#include "boundary/records.h"

#include "base/text.h"

namespace sallyport {
namespace {

constexpr std::size_t kLongestName = 256;  // of a caller or tool that need not exist

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
  if (passage.purpose == Passage::Purpose::dry_run) record["dry_run"] = true;
  if (!passage.request.trace.empty()) record["trace"] = name(passage.request.trace);
  return record;
}

}  // namespace

json::object intent_record(const Passage& passage) {
  json::object record = call_record("intent", passage);
  record["envelope"] = passage.envelope->hash;
  // Until there is redaction, the values are left out unless the policy asks for all of them.
  if (passage.shared.rules.audit.arguments == "full") {
    record["arguments"] = passage.arguments;
  } else {
    json::array names;
    for (const auto& argument : passage.arguments)
      names.emplace_back(argument.key());
    record["argument_names"] = std::move(names);
  }
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
  if (result.tier.empty()) return record;
  record["tier"] = result.tier;
  record["wall_us"] = result.usage.wall_us;
  record["cpu_us"] = result.usage.cpu_user_us + result.usage.cpu_system_us;
  record["peak_memory_bytes"] = result.usage.peak_memory_bytes;
  record["output_bytes"] = result.usage.output_bytes;
  if (!result.limits_hit.empty()) record["limits_hit"] = json::value_from(result.limits_hit);
  return record;
}

}  // namespace sallyport
