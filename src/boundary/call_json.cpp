#include "base/base64.h"
#include "base/json.h"
#include "base/text.h"
#include "cell/result_json.h"
#include "sallyport/call.h"

namespace sallyport {
namespace {

json::array strings(const std::vector<std::string>& list) {
  json::array array;
  for (const std::string& text : list)
    array.emplace_back(text);
  return array;
}

// Text as it is, everything else so that it can be had back byte by byte.
void add_contents(const CallResult& result, json::array& artifacts) {
  for (json::value& entry : artifacts) {
    json::object& artifact = entry.as_object();
    const auto content = result.collected.find(std::string(artifact["name"].as_string()));
    if (content == result.collected.end()) continue;
    if (to_utf8(content->second) == content->second)
      artifact["content"] = content->second;
    else
      artifact["base64"] = to_base64(content->second);
  }
}

}  // namespace

json::object to_json(const CallResult& result) {
  json::object object = result_object(result);
  object["tool"] = result.tool;
  object["caller"] = result.caller;
  if (!result.rule.empty()) object["rule"] = to_utf8(result.rule);
  if (result.data) object["data"] = *result.data;
  if (!result.required.empty()) {
    object["missing"] = strings(result.missing);
    object["required"] = strings(result.required);
  }
  if (result.rate_remaining) object["rate_remaining"] = *result.rate_remaining;
  if (result.retry_after_ms) object["retry_after_ms"] = *result.retry_after_ms;
  if (result.size_bytes) object["size_bytes"] = *result.size_bytes;
  if (result.limit_bytes) object["limit_bytes"] = *result.limit_bytes;
  json::object redactions;
  for (const auto& [rule, count] : result.redactions)
    redactions[rule] = count;
  object["redactions"] = std::move(redactions);
  add_contents(result, object["artifacts"].as_array());
  object["isolation"].as_object()["tier"] = result.tier.empty() ? "none" : result.tier;
  object["policy"] = result.policy;
  return object;
}

}  // namespace sallyport
