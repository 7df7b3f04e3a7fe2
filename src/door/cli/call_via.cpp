#include "door/cli/call_via.h"

#include <cstdlib>

#include "base/base64.h"
#include "base/json.h"
#include "base/text.h"
#include "door/cli/top_command.h"
#include "http/client.h"

namespace sallyport {
namespace {

// A call has its own deadline; this one is for a service that has died.
constexpr std::chrono::minutes kDeadline{30};

class Talk {
 public:
  static Result<Talk> open(const std::string& via) {
    auto target = parse_top_url(via.starts_with('/') ? "unix:" + via : via);
    if (!target) return std::unexpected(std::move(target.error()));
    const char* key = std::getenv("SALLYPORT_KEY");
    if (key == nullptr)
      return fail(Reason::argument, "there is no key to call the service with",
                  "set SALLYPORT_KEY; `sallyport key add CALLER` prints one");
    return Talk(std::move(*target), key);
  }

  Result<HttpReply> ask(std::string method, const std::string& path, std::string body = {}) {
    HttpFetch request{.url = target_.url + path, .socket = target_.socket};
    request.method = std::move(method);
    request.headers.push_back({"Authorization", "Bearer " + key_});
    request.body = std::move(body);
    request.deadline = kDeadline;
    return fetch(request);
  }

 private:
  Talk(TopTarget target, std::string key) : target_(std::move(target)), key_(std::move(key)) {}
  TopTarget target_;
  std::string key_;
};

std::string text_in(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

// A name as a part of a path.
std::string encoded(std::string_view name) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string text;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
        c == '_' || c == '.' || c == '/')
      text.push_back(c);
    else
      text.append({'%', kDigits[byte >> 4], kDigits[byte & 15]});
  }
  return text;
}

const json::value* at_path(const json::value& value, std::initializer_list<std::string_view> keys) {
  const json::value* at = &value;
  for (const std::string_view key : keys) {
    const json::object* object = at->if_object();
    at = object != nullptr ? object->if_contains(key) : nullptr;
    if (at == nullptr) return nullptr;
  }
  return at;
}

// What the tool's own definition says about an argument; nothing: any text will do.
bool wants_json(const json::value& tools, const std::string& tool, const std::string& argument) {
  const json::value* list = at_path(tools, {"tools"});
  if (list == nullptr || !list->is_array()) return false;
  for (const json::value& entry : list->get_array()) {
    if (!entry.is_object() || text_in(entry.get_object(), "name") != tool) continue;
    const json::value* type = at_path(entry, {"arguments", "properties", argument, "type"});
    return type != nullptr && (!type->is_string() || type->get_string() != "string");
  }
  return false;
}

Result<json::object> make_arguments(Talk& talk, const CallCommand& command) {
  json::object arguments;
  if (command.argument_words.empty()) return arguments;
  const auto reply = talk.ask("GET", "/v1/tools");
  if (!reply) return std::unexpected(reply.error());
  const auto tools = parse_json(reply->body);
  for (const auto& [key, text] : command.argument_words) {
    auto parsed = tools && wants_json(*tools, command.tool, key) ? parse_json(text)
                                                                 : Result<json::value>(text);
    arguments[key] = parsed ? std::move(*parsed) : json::value(text);
  }
  return arguments;
}

std::string make_body(const CallRequest& request) {
  json::object body{{"arguments", request.arguments}};
  if (request.input) body["stdin"] = *request.input;
  if (!request.files.empty()) {
    json::array files;
    for (const CallFile& file : request.files)
      files.push_back({{"path", file.path}, {"base64", to_base64(file.content)}});
    body["files"] = std::move(files);
  }
  if (!request.collect.empty()) body["collect"] = json::value_from(request.collect);
  if (!request.limits.empty()) {
    json::object limits;
    for (const auto& [name, value] : request.limits)
      limits[name] = value;
    body["limits"] = std::move(limits);
  }
  if (request.dry_run) body["dry_run"] = true;
  if (!request.idempotency_key.empty()) body["idempotency_key"] = request.idempotency_key;
  return json::serialize(body);
}

Result<void> bring_files(Talk& talk, CallResult& result) {
  for (const Artifact& artifact : result.artifacts) {
    auto reply =
        talk.ask("GET", "/v1/calls/" + result.call_id + "/artifacts/" + encoded(artifact.name));
    if (!reply) return std::unexpected(std::move(reply.error()));
    if (reply->status != 200)
      return fail(Reason::unavailable, "the file " + quoted(artifact.name) + " is not there");
    result.collected.emplace(artifact.name, std::move(reply->body));
  }
  return {};
}

}  // namespace

Result<CallResult> read_result(std::string_view body) {
  const auto parsed = parse_json(body);
  if (!parsed || !parsed->is_object())
    return fail(Reason::unavailable, "the service has answered something else than a result");
  const json::object& object = parsed->get_object();
  CallResult result;
  result.call_id = text_in(object, "call_id");
  result.tool = text_in(object, "tool");
  result.caller = text_in(object, "caller");
  result.rule = text_in(object, "rule");
  result.message = text_in(object, "message");
  result.hint = text_in(object, "hint");
  result.output = text_in(object, "output");
  result.error = text_in(object, "error");
  // A problem has no status: nothing ran.
  result.status = Status::blocked;
  for (const Status status :
       {Status::success, Status::error, Status::killed, Status::pending, Status::blocked})
    if (text_in(object, "status") == name_of(status)) result.status = status;
  for (const ReasonText& row : kReasons)
    if (text_in(object, "reason") == row.name) result.reason = row.reason;
  if (const json::value* code = object.if_contains("exit_code"); code && code->is_int64())
    result.exit_code = static_cast<int>(code->get_int64());
  if (const json::value* data = object.if_contains("data")) result.data = *data;
  if (const json::value* list = object.if_contains("artifacts"); list && list->is_array())
    for (const json::value& entry : list->get_array())
      if (entry.is_object()) result.artifacts.push_back({text_in(entry.get_object(), "name"), 0});
  if (const json::value* list = object.if_contains("findings"); list && list->is_array())
    for (const json::value& entry : list->get_array())
      if (entry.is_object())
        result.findings.push_back({text_in(entry.get_object(), "kind"),
                                   text_in(entry.get_object(), "path"),
                                   text_in(entry.get_object(), "why")});
  return result;
}

Result<ServiceAnswer> call_service(const CallCommand& command, CallRequest request) {
  auto talk = Talk::open(command.via);
  if (!talk) return std::unexpected(std::move(talk.error()));
  if (!command.arguments_json) {
    auto arguments = make_arguments(*talk, command);
    if (!arguments) return std::unexpected(std::move(arguments.error()));
    request.arguments = std::move(*arguments);
  }
  auto reply =
      talk->ask("POST", "/v1/tools/" + encoded(command.tool) + "/call", make_body(request));
  if (!reply) return std::unexpected(std::move(reply.error()));
  if (reply->status == 401)
    return fail(Reason::permission, "the service does not know the key in SALLYPORT_KEY",
                "`sallyport key add CALLER` prints one that it knows");
  auto result = read_result(reply->body);
  if (!result) return std::unexpected(std::move(result.error()));
  if (!request.collect.empty())
    if (auto brought = bring_files(*talk, *result); !brought)
      return std::unexpected(std::move(brought.error()));
  return ServiceAnswer{.result = std::move(*result), .text = std::move(reply->body)};
}

}  // namespace sallyport
