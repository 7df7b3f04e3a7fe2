// The description of the API, from the table of routes.
#include "serve/call_body.h"
#include "serve/routes.h"

namespace sallyport {
namespace {

struct NamedSchema {
  std::string_view name;
  std::string_view text;
};

constexpr NamedSchema kSchemas[] = {
    {"Any", R"({"type": "object"})"},
    {"Problem",
     R"({"type": "object", "required": ["status", "reason", "message"],
         "additionalProperties": false,
         "properties": {"status": {"const": "blocked"}, "reason": {"$ref": "#/$defs/Reason"},
                        "message": {"type": "string"}, "hint": {"type": "string"}}})"},
    {"Execute",
     R"({"type": "object", "required": ["tool_name", "code"], "additionalProperties": false,
         "properties": {"tool_name": {"type": "string"}, "code": {"type": "string"}}})"},
    {"Executed",
     R"({"type": "object", "required": ["success", "output", "error", "execution_time_ms"],
         "additionalProperties": false,
         "properties": {"success": {"type": "boolean"}, "output": {"type": "string"},
                        "error": {"type": "string"}, "execution_time_ms": {"type": "integer"}}})"},
    {"Result",
     R"({"type": "object",
         "required": ["call_id", "status", "output", "error", "truncated", "limits_hit",
                      "artifacts", "findings", "usage", "execution_ms", "isolation", "policy"],
         "additionalProperties": false,
         "properties": {
           "call_id": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
           "status": {"enum": ["success", "error", "blocked", "killed", "pending"]},
           "reason": {"$ref": "#/$defs/Reason"},
           "message": {"type": "string"}, "hint": {"type": "string"}, "rule": {"type": "string"},
           "output": {"type": "string"}, "error": {"type": "string"}, "data": true,
           "exit_code": {"type": "integer"}, "truncated": {"type": "boolean"},
           "limits_hit": {"type": "array", "items": {"type": "string"}},
           "refused_syscalls": {"type": "object", "additionalProperties": {"type": "integer"}},
           "redactions": {"type": "object", "additionalProperties": {"type": "integer"}},
           "findings": {"type": "array", "items": {"type": "object"}},
           "network": {"type": "array", "items": {"type": "object", "required": ["kind", "verdict", "host"],
             "properties": {"kind": {"enum": ["name", "connection", "request", "unlisted"]},
                            "verdict": {"enum": ["allowed", "refused", "failed", "unknown"]},
                            "host": {"type": "string"}, "port": {"type": "integer"},
                            "address": {"type": "string"}, "sent": {"type": "integer"},
                            "received": {"type": "integer"}, "rule": {"type": "string"},
                            "why": {"type": "string"}, "credential": {"type": "string"}}}},
           "artifacts": {"type": "array", "items": {
             "type": "object", "required": ["name", "size"],
             "properties": {"name": {"type": "string"}, "size": {"type": "integer"},
                            "content": {"type": "string"}, "base64": {"type": "string"}}}},
           "usage": {"type": "object", "required": ["wall_us", "cpu_user_us", "cpu_system_us",
                                                    "peak_memory_bytes", "final"]},
           "execution_ms": {"type": "integer"},
           "isolation": {"type": "object", "required": ["tier", "layers"]},
           "rate_remaining": {"type": "integer"}, "retry_after_ms": {"type": "integer"},
           "size_bytes": {"type": "integer"}, "limit_bytes": {"type": "integer"},
           "missing": {"type": "array", "items": {"type": "string"}},
           "required": {"type": "array", "items": {"type": "string"}},
           "tool": {"type": "string"}, "caller": {"type": "string"},
           "policy": {"type": "string"}}})"},
    {"RunningCall",
     R"({"type": "object", "required": ["call_id", "tool", "caller"], "additionalProperties": false,
         "properties": {"call_id": {"type": "string"}, "tool": {"type": "string"},
                        "caller": {"type": "string"},
                        "status": {"enum": ["running", "cancelling"]}}})"},
    {"CallOrResult", R"({"anyOf": [{"$ref": "#/$defs/Result"}, {"$ref": "#/$defs/RunningCall"}]})"},
    {"Calls",
     R"({"type": "object", "required": ["calls"], "additionalProperties": false,
         "properties": {"calls": {"type": "array", "items": {"$ref": "#/$defs/RunningCall"}}}})"},
    {"Tools",
     R"({"type": "object", "required": ["tools"], "additionalProperties": false,
         "properties": {"tools": {"type": "array", "items": {"type": "object"}}}})"},
    {"Records",
     R"({"type": "object", "required": ["records"], "additionalProperties": false,
         "properties": {"records": {"type": "array", "items": {"type": "object"}},
                        "cursor": {"type": "string"}}})"},
    {"LockedOut",
     R"({"type": "object", "required": ["locked_out"], "additionalProperties": false,
         "properties": {"locked_out": {"type": "array", "items": {
           "type": "object", "required": ["who", "denials", "until_us"]}}}})"},
    {"Lifted",
     R"({"type": "object", "required": ["lifted"], "additionalProperties": false,
         "properties": {"lifted": {"type": "string"}}})"},
    {"Reloaded",
     R"({"type": "object", "required": ["status", "policy"], "additionalProperties": false,
         "properties": {"status": {"const": "reloaded"}, "policy": {"type": "string"}}})"},
    {"State",
     R"({"type": "object", "required": ["status"], "additionalProperties": false,
         "properties": {"status": {"enum": ["ok", "ready"]}, "policy": {"type": "string"}}})"},
};

// OpenAPI keeps schemas in components; the table says #/$defs, as any JSON Schema does.
json::value relocated(json::value schema) {
  if (json::object* object = schema.if_object()) {
    for (auto& [key, value] : *object)
      if (constexpr std::string_view kHere = "#/$defs/";
          key == "$ref" && value.is_string() &&
          std::string_view(value.get_string()).starts_with(kHere))
        value = "#/components/schemas/" +
                std::string(std::string_view(value.get_string()).substr(kHere.size()));
      else
        value = relocated(std::move(value));
  } else if (json::array* array = schema.if_array()) {
    for (json::value& item : *array)
      item = relocated(std::move(item));
  }
  return schema;
}

json::object schemas() {
  json::object all;
  for (const NamedSchema& schema : kSchemas)
    if (auto parsed = parse_json(schema.text)) all[schema.name] = relocated(std::move(*parsed));
  all["Call"] = call_body_schema();
  json::array reasons;
  for (const ReasonText& row : kReasons)
    if (!row.name.empty()) reasons.emplace_back(row.name);
  all["Reason"] = {{"enum", std::move(reasons)}};
  return all;
}

json::object reference(std::string_view name) {
  return {{"$ref", "#/components/schemas/" + std::string(name)}};
}

json::object content(std::string_view type, const json::value& schema) {
  return {{std::string(type), {{"schema", schema}}}};
}

std::string_view sentence_of(unsigned status) {
  using Row = std::pair<unsigned, std::string_view>;
  constexpr Row kSentences[] = {
      {200, "all is well"},
      {202, "it waits for a person, or is being ended"},
      {400, "the request is malformed"},
      {401, "the key is missing or not known"},
      {403, "the caller lacks a permission"},
      {404, "there is no such thing for this caller"},
      {409, "a call with this idempotency key is in flight"},
      {422, "an argument or the code is refused"},
      {429, "too many calls, or locked out; see Retry-After"},
      {503, "what was asked for cannot be enforced or recorded now"},
  };
  const auto row = std::ranges::find(kSentences, status, &Row::first);
  return row != std::end(kSentences) ? row->second : "";
}

json::object response_of(const Route& route, unsigned status) {
  json::object response{{"description", sentence_of(status)}};
  if (status == 200 && route.response.empty())
    response["content"] = content(route.response_type, {{"type", "string"}});
  else if (status < 300)
    response["content"] = content("application/json", reference(route.response));
  else if (route.access == RouteAccess::call)
    response["content"] =
        content("application/json", {{"anyOf", {reference("Problem"), reference("Result")}}});
  else
    response["content"] = content("application/json", reference("Problem"));
  if (status == 200 && route.response == "Result")
    response["content"].as_object()["text/event-stream"] = {{"schema", {{"type", "string"}}}};
  return response;
}

json::object operation_of(const Route& route) {
  json::object responses;
  const auto add = [&](unsigned status) {
    responses[std::to_string(status)] = response_of(route, status);
  };
  add(200);
  for (const unsigned status : route.statuses)
    add(status);
  if (route.access != RouteAccess::everybody) add(401);
  add(503);
  json::object operation{
      {"operationId", route.name}, {"summary", route.summary}, {"responses", std::move(responses)}};
  json::array parameters;
  for (std::size_t at = route.path.find('{'); at != std::string_view::npos;
       at = route.path.find('{', at + 1)) {
    std::string_view name = route.path.substr(at + 1, route.path.find('}', at) - at - 1);
    if (name.ends_with('+')) name.remove_suffix(1);
    parameters.push_back(json::object{
        {"name", name}, {"in", "path"}, {"required", true}, {"schema", {{"type", "string"}}}});
  }
  for (const Parameter& parameter : route.parameters)
    parameters.push_back(json::object{{"name", parameter.name},
                                      {"in", "query"},
                                      {"description", parameter.description},
                                      {"schema", {{"type", "string"}}}});
  if (!parameters.empty()) operation["parameters"] = std::move(parameters);
  if (!route.request.empty())
    operation["requestBody"] = {{"content", content("application/json", reference(route.request))}};
  if (route.access == RouteAccess::everybody) operation["security"] = json::array();
  return operation;
}

}  // namespace

json::object openapi() {
  json::object paths;
  for (const Route& route : routes()) {
    std::string path(route.path);
    if (const std::size_t plus = path.find("+}"); plus != std::string::npos) path.erase(plus, 1);
    std::string method(route.method);
    for (char& letter : method)
      letter = static_cast<char>(letter | 0x20);
    if (!paths.contains(path)) paths[path] = json::object();
    paths[path].as_object()[method] = operation_of(route);
  }
  return {
      {"openapi", "3.1.0"},
      {"info",
       {{"title", "Sallyport"},
        {"version", SALLYPORT_VERSION},
        {"description", "Tool calls of agents, through the gates of a policy, in cells."},
        {"license", {{"name", "Apache-2.0"}, {"identifier", "Apache-2.0"}}}}},
      {"security", json::array{json::object{{"key", json::array()}}}},
      {"paths", std::move(paths)},
      {"components",
       {{"schemas", schemas()},
        {"securitySchemes", {{"key", {{"type", "http"}, {"scheme", "bearer"}}}}}}},
  };
}

}  // namespace sallyport
