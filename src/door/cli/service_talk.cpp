#include "door/cli/service_talk.h"

#include <cstdlib>

#include "base/base64.h"
#include "base/text.h"

namespace sallyport {
namespace {

// A call has its own deadline; this one is for a service that has died.
constexpr std::chrono::minutes kDeadline{30};

}  // namespace

Result<ServiceTalk> ServiceTalk::open(const std::string& via, Whom whom) {
  auto target = parse_top_url(via.starts_with('/') ? "unix:" + via : via);
  if (!target) return std::unexpected(std::move(target.error()));
  const char* key = std::getenv("SALLYPORT_KEY");
  if (key == nullptr)
    return fail(Reason::argument, "there is no key to call the service with",
                "set SALLYPORT_KEY; `sallyport key add CALLER` prints one");
  return ServiceTalk(std::move(*target), key, whom);
}

HttpFetch ServiceTalk::request(std::string method, const std::string& path,
                               std::string body) const {
  HttpFetch request{.url = target_.url + path, .socket = target_.socket};
  request.method = std::move(method);
  request.headers.push_back({"Authorization", "Bearer " + key_});
  request.body = std::move(body);
  request.deadline = kDeadline;
  request.root_or_self = whom_ == Whom::root_or_self;
  return request;
}

Result<HttpReply> ServiceTalk::ask(std::string method, const std::string& path,
                                   std::string body) const {
  return fetch(request(std::move(method), path, std::move(body)));
}

std::string in_path(std::string_view name) {
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

std::string text_in(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

std::string call_body(const CallRequest& request) {
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
  if (request.client) {
    json::array files;
    for (const CallClientFile& file : request.client->files)
      files.push_back({{"path", file.path}, {"inside", file.inside}, {"write", file.write}});
    body["client"] = {{"ticket", request.client->ticket},
                      {"uid", request.client->uid},
                      {"files", std::move(files)}};
  }
  if (request.dry_run) body["dry_run"] = true;
  if (!request.idempotency_key.empty()) body["idempotency_key"] = request.idempotency_key;
  return json::serialize(body);
}

Result<void> bring_artifacts(const ServiceTalk& talk, CallResult& result) {
  for (const Artifact& artifact : result.artifacts) {
    auto reply =
        talk.ask("GET", "/v1/calls/" + result.call_id + "/artifacts/" + in_path(artifact.name));
    if (!reply) return std::unexpected(std::move(reply.error()));
    if (reply->status != 200)
      return fail(Reason::unavailable, "the file " + quoted(artifact.name) + " is not there");
    result.collected.emplace(artifact.name, std::move(reply->body));
  }
  return {};
}

Result<void> check_key_known(const HttpReply& reply) {
  if (reply.status != 401) return {};
  return fail(Reason::permission, "the service does not know the key in SALLYPORT_KEY",
              "`sallyport key add CALLER` prints one that it knows");
}

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

}  // namespace sallyport
