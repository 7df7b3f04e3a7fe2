#include "serve/service_lockouts.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/json.h"
#include "http/client.h"
#include "serve/front.h"

namespace sallyport {
namespace {

// None: nobody answers.
std::optional<HttpReply> ask(int state, const char* method, const std::string& path) {
  struct stat status{};
  if (::fstatat(state, kOperatorSocket, &status, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
  auto reply = fetch({.url = "http://localhost" + path,
                      .socket = "/proc/self/fd/" + std::to_string(state) + "/" + kOperatorSocket,
                      .method = method});
  return reply ? std::optional(std::move(*reply)) : std::nullopt;
}

Error refusal(const HttpReply& reply) {
  return {Reason::unavailable, "the service answered " + std::to_string(reply.status), reply.body};
}

}  // namespace

std::optional<Result<std::vector<LockedOut>>> ask_lockouts(int state) {
  const auto reply = ask(state, "GET", "/v1/lockouts");
  if (!reply) return std::nullopt;
  const auto body = parse_json(reply->body);
  const json::object* object = body ? body->if_object() : nullptr;
  const json::value* list = object != nullptr ? object->if_contains("locked_out") : nullptr;
  if (reply->status != 200 || list == nullptr || !list->is_array())
    return Result<std::vector<LockedOut>>(std::unexpected(refusal(*reply)));
  std::vector<LockedOut> entries;
  for (const json::value& value : list->get_array()) {
    const json::object* entry = value.if_object();
    if (entry == nullptr || !entry->contains("who") || !entry->at("who").is_string()) continue;
    const auto number = [&](const char* key) {
      const json::value* found = entry->if_contains(key);
      return found != nullptr && found->is_int64() ? found->get_int64() : 0;
    };
    entries.push_back({.who = std::string(entry->at("who").get_string()),
                       .until = Moment(number("until_us")),
                       .denials = static_cast<std::uint32_t>(number("denials"))});
  }
  return entries;
}

std::optional<Result<bool>> ask_to_lift(int state, const std::string& who) {
  const auto reply = ask(state, "DELETE", "/v1/lockouts/" + who);
  if (!reply) return std::nullopt;
  if (reply->status != 200 && reply->status != 404)
    return Result<bool>(std::unexpected(refusal(*reply)));
  return reply->status == 200;
}

}  // namespace sallyport
