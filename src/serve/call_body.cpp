#include "serve/call_body.h"

#include "base/base64.h"
#include "base/text.h"

namespace sallyport {
namespace {

Result<std::string> text_of(const json::value& value, std::string_view key) {
  if (!value.is_string()) return fail(Reason::argument, quoted(key) + " must be a string");
  return std::string(value.get_string());
}

Result<void> set_arguments(json::value& value, CallRequest& request) {
  if (!value.is_object())
    return fail(Reason::argument, "'arguments' must be an object",
                R"x(such as {"arguments": {"code": "print(1)"}})x");
  request.arguments = std::move(value.get_object());
  return {};
}

Result<void> set_input(json::value& value, CallRequest& request) {
  auto text = text_of(value, "stdin");
  if (!text) return std::unexpected(text.error());
  request.input = std::move(*text);
  return {};
}

Result<CallFile> read_file_entry(const json::value& entry) {
  const json::object* object = entry.if_object();
  if (object == nullptr) return fail(Reason::argument, "an entry of 'files' must be an object");
  CallFile file;
  bool has_content = false;
  for (const auto& [key, value] : *object) {
    auto text = text_of(value, key);
    if (!text) return std::unexpected(text.error());
    if (key == "path") {
      file.path = std::move(*text);
    } else if ((key == "content" || key == "base64") && !has_content) {
      has_content = true;
      if (key == "base64") {
        auto bytes = from_base64(*text);
        if (!bytes) return fail(Reason::argument, "'base64' of a file is not base64");
        text = std::move(*bytes);
      }
      file.content = std::move(*text);
    } else {
      return fail(Reason::argument, "a file cannot have " + quoted(key),
                  "it has a path, and content or base64");
    }
  }
  if (!object->contains("path") || !has_content)
    return fail(Reason::argument, "a file needs a path, and content or base64");
  return file;
}

Result<void> set_files(json::value& value, CallRequest& request) {
  if (!value.is_array()) return fail(Reason::argument, "'files' must be a list");
  for (const json::value& entry : value.get_array()) {
    auto file = read_file_entry(entry);
    if (!file) return std::unexpected(file.error());
    request.files.push_back(std::move(*file));
  }
  return {};
}

Result<void> set_collect(json::value& value, CallRequest& request) {
  if (!value.is_array()) return fail(Reason::argument, "'collect' must be a list of globs");
  for (const json::value& entry : value.get_array()) {
    auto text = text_of(entry, "collect");
    if (!text) return std::unexpected(text.error());
    request.collect.push_back(std::move(*text));
  }
  return {};
}

// A number is as good as its text where the limit has no unit.
Result<void> set_limits(json::value& value, CallRequest& request) {
  if (!value.is_object())
    return fail(Reason::argument, "'limits' must be an object",
                R"(such as {"limits": {"timeout": "5s"}})");
  for (const auto& [key, limit] : value.get_object()) {
    if (limit.is_string())
      request.limits[key] = limit.get_string();
    else if (limit.is_number())
      request.limits[key] = json::serialize(limit);
    else
      return fail(Reason::argument, "the limit " + quoted(key) + " must be a string or a number");
  }
  return {};
}

Result<void> set_dry_run(json::value& value, CallRequest& request) {
  if (!value.is_bool()) return fail(Reason::argument, "'dry_run' must be true or false");
  request.dry_run = value.get_bool();
  return {};
}

Result<CallClientFile> read_client_file(const json::value& entry) {
  const json::object* object = entry.if_object();
  CallClientFile file;
  if (object == nullptr) return fail(Reason::argument, "an entry of client.files is no object");
  for (const auto& [key, value] : *object) {
    if (key == "write" && value.is_bool()) {
      file.write = value.get_bool();
      continue;
    }
    if (key != "path" && key != "inside")
      return fail(Reason::argument, "an entry of client.files cannot have " + quoted(key),
                  "it has path, inside and write");
    auto text = text_of(value, key);
    if (!text) return std::unexpected(text.error());
    (key == "path" ? file.path : file.inside) = std::move(*text);
  }
  if (file.path.empty() || file.inside.empty())
    return fail(Reason::argument, "an entry of client.files needs path and inside");
  return file;
}

Result<void> set_client(json::value& value, CallRequest& request) {
  constexpr std::size_t kMostFiles = 16;
  constexpr const char* kHint = "it is made by `sallyport run --via --read` and --write";
  const json::object* object = value.if_object();
  const json::value* ticket = object != nullptr ? object->if_contains("ticket") : nullptr;
  const json::value* uid = object != nullptr ? object->if_contains("uid") : nullptr;
  const json::value* files = object != nullptr ? object->if_contains("files") : nullptr;
  if (ticket == nullptr || !ticket->is_string() || uid == nullptr || !uid->is_int64() ||
      uid->get_int64() < 0 || uid->get_int64() > 0xffff'fffe || files == nullptr ||
      !files->is_array() || object->size() != 3)
    return fail(Reason::argument, "'client' must have ticket, uid and files", kHint);
  if (files->get_array().empty() || files->get_array().size() > kMostFiles)
    return fail(Reason::argument, "'client' has no files, or more than 16", kHint);
  CallClient client{.ticket = std::string(ticket->get_string()),
                    .uid = static_cast<std::uint32_t>(uid->get_int64()),
                    .files = {}};
  for (const json::value& entry : files->get_array()) {
    auto file = read_client_file(entry);
    if (!file) return std::unexpected(std::move(file.error()));
    client.files.push_back(std::move(*file));
  }
  request.client = std::move(client);
  return {};
}

Result<void> set_idempotency_key(json::value& value, CallRequest& request) {
  auto text = text_of(value, "idempotency_key");
  if (!text) return std::unexpected(text.error());
  request.idempotency_key = std::move(*text);
  return {};
}

struct BodyField {
  std::string_view key;
  std::string_view schema;
  Result<void> (*set)(json::value&, CallRequest&);
};

constexpr BodyField kFields[] = {
    {"arguments", R"({"type": "object", "description": "The tool's arguments, by name."})",
     set_arguments},
    {"stdin", R"({"type": "string", "description": "Standard input of a command tool."})",
     set_input},
    {"files",
     R"({"type": "array", "description": "Files that are put into the scratch first.",
         "items": {"type": "object", "required": ["path"], "additionalProperties": false,
                   "properties": {"path": {"type": "string"}, "content": {"type": "string"},
                                  "base64": {"type": "string", "contentEncoding": "base64"}}}})",
     set_files},
    {"collect",
     R"({"type": "array", "items": {"type": "string"},
         "description": "Globs of scratch files that come back as artifacts."})",
     set_collect},
    {"limits",
     R"({"type": "object", "additionalProperties": {"type": ["string", "number"]},
         "description": "Tighter limits, by their names in the policy."})",
     set_limits},
    {"dry_run",
     R"({"type": "boolean", "description": "Say what would be decided, and run nothing."})",
     set_dry_run},
    {"client",
     R"({"type": "object", "required": ["ticket", "uid", "files"], "additionalProperties": false,
         "description": "Files of the caller's own, which it has shown to the launcher.",
         "properties": {
           "ticket": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
           "uid": {"type": "integer", "minimum": 0},
           "files": {"type": "array", "minItems": 1, "maxItems": 16, "items": {
             "type": "object", "required": ["path", "inside"], "additionalProperties": false,
             "properties": {"path": {"type": "string"}, "inside": {"type": "string"},
                            "write": {"type": "boolean"}}}}}})",
     set_client},
    {"idempotency_key", R"({"type": "string", "description": "A retried call runs once."})",
     set_idempotency_key},
};

Result<json::object> parse_object(std::string_view body) {
  auto value = parse_json(body);
  if (!value) return std::unexpected(value.error());
  if (!value->is_object()) return fail(Reason::argument, "the body is not a JSON object");
  return std::move(value->get_object());
}

}  // namespace

Result<CallRequest> parse_call_body(std::string_view body) {
  CallRequest request;
  if (body.empty()) return request;
  auto object = parse_object(body);
  if (!object) return std::unexpected(object.error());
  for (auto&& [key, value] : *object) {
    const auto field = std::ranges::find(kFields, std::string_view(key), &BodyField::key);
    if (field == std::end(kFields)) {
      std::vector<std::string_view> keys;
      for (const BodyField& known : kFields)
        keys.push_back(known.key);
      const auto meant = nearest(key, keys);
      return fail(Reason::argument, "the body cannot have " + quoted(key),
                  meant ? "did you mean " + std::string(*meant) + "?"
                        : "the tool's own arguments belong into \"arguments\"");
    }
    if (auto done = field->set(value, request); !done) return std::unexpected(done.error());
  }
  return request;
}

Result<CallRequest> parse_execute_body(std::string_view body) {
  const auto object = parse_object(body);
  if (!object) return std::unexpected(object.error());
  CallRequest request;
  const char* const kHint = R"x(write {"tool_name": "python", "code": "print(1)"})x";
  for (const auto& [key, value] : *object) {
    if ((key != "tool_name" && key != "code") || !value.is_string())
      return fail(Reason::argument, "the body cannot have " + quoted(key) + " of this kind", kHint);
    if (key == "tool_name")
      request.tool = value.get_string();
    else
      request.arguments["code"] = value.get_string();
  }
  if (request.tool.empty() || request.arguments.empty())
    return fail(Reason::argument, "the body needs tool_name and code", kHint);
  return request;
}

json::object call_body_schema() {
  json::object properties;
  for (const BodyField& field : kFields)
    if (auto schema = parse_json(field.schema)) properties[field.key] = std::move(*schema);
  return {
      {"type", "object"}, {"additionalProperties", false}, {"properties", std::move(properties)}};
}

}  // namespace sallyport
