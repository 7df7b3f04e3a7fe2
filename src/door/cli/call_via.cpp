#include "door/cli/call_via.h"

#include "door/cli/service_talk.h"

namespace sallyport {
namespace {

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

Result<json::object> make_arguments(const ServiceTalk& talk, const CallCommand& command) {
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

}  // namespace

Result<ServiceAnswer> call_service(const CallCommand& command, CallRequest request) {
  auto talk = ServiceTalk::open(command.via);
  if (!talk) return std::unexpected(std::move(talk.error()));
  if (!command.arguments_json) {
    auto arguments = make_arguments(*talk, command);
    if (!arguments) return std::unexpected(std::move(arguments.error()));
    request.arguments = std::move(*arguments);
  }
  auto reply =
      talk->ask("POST", "/v1/tools/" + in_path(command.tool) + "/call", call_body(request));
  if (!reply) return std::unexpected(std::move(reply.error()));
  if (auto known = check_key_known(*reply); !known)
    return std::unexpected(std::move(known.error()));
  auto result = read_result(reply->body);
  if (!result) return std::unexpected(std::move(result.error()));
  if (!request.collect.empty())
    if (auto brought = bring_artifacts(*talk, *result); !brought)
      return std::unexpected(std::move(brought.error()));
  return ServiceAnswer{.result = std::move(*result), .text = std::move(reply->body)};
}

}  // namespace sallyport
