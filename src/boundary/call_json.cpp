#include "base/json.h"
#include "base/object_text.h"
#include "cell/result_json.h"
#include "sallyport/call.h"

namespace sallyport {
namespace {

// Small enough to be quick to allocate; the output comes on top.
constexpr std::size_t kUsualSize = 900;

void add_strings(ObjectText& object, JsonKey key, const std::vector<std::string>& list) {
  object.list(key, list, [&](const std::string& text) { append_json_text(object.out(), text); });
}

template <class AddData>
std::string write(const CallResult& result, AddData add_data) {
  std::string text;
  text.reserve(kUsualSize + result.output.size() + result.error.size());
  ObjectText object(text);
  add_outcome(object, result, result.tier.empty() ? "none" : std::string_view(result.tier),
              result.collected);
  object.text("tool", result.tool);
  object.text("caller", result.caller);
  if (!result.rule.empty()) object.text("rule", result.rule);
  add_data(object);
  if (!result.required.empty()) {
    add_strings(object, "missing", result.missing);
    add_strings(object, "required", result.required);
  }
  if (result.rate_remaining) object.number("rate_remaining", *result.rate_remaining);
  if (result.retry_after_ms) object.number("retry_after_ms", *result.retry_after_ms);
  if (result.size_bytes) object.number("size_bytes", *result.size_bytes);
  if (result.limit_bytes) object.number("limit_bytes", *result.limit_bytes);
  ObjectText redactions = object.object("redactions");
  for (const auto& [rule, count] : result.redactions)
    redactions.number(JsonKey::of(rule), count);
  redactions.close();
  object.text("policy", result.policy);
  object.close();
  return text;
}

}  // namespace

std::string to_json_text(const CallResult& result) {
  return write(result, [&](ObjectText& object) {
    if (result.data) object.value("data", *result.data);
  });
}

json::object to_json(const CallResult& result) {
  // The data stays the value that it is: a text of it could be too deep to be read.
  std::string text = write(result, [&](ObjectText& object) {
    if (result.data) object.value("data", nullptr);
  });
  json::object object = std::move(json::parse(text).as_object());
  if (result.data) object["data"] = *result.data;
  return object;
}

}  // namespace sallyport
