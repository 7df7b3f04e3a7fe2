// Requests to a service that runs, for commands that have it do the work (`--via`). Who asks, says
// the key in the environment: an argument could be seen by everybody on the machine.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "door/cli/top_command.h"
#include "http/client.h"
#include "sallyport/call.h"

namespace sallyport {

class ServiceTalk {
 public:
  // Who may listen on a unix socket.
  enum class Whom { any, root_or_self };
  // `via`: the path of a unix socket, or http://ADDRESS:PORT.
  [[nodiscard]] static Result<ServiceTalk> open(const std::string& via, Whom whom = Whom::any);

  // A request to be filled in further and fetched.
  [[nodiscard]] HttpFetch request(std::string method, const std::string& path,
                                  std::string body = {}) const;
  // The same, sent and answered.
  [[nodiscard]] Result<HttpReply> ask(std::string method, const std::string& path,
                                      std::string body = {}) const;

 private:
  ServiceTalk(TopTarget target, std::string key, Whom whom)
      : target_(std::move(target)), key_(std::move(key)), whom_(whom) {}

  TopTarget target_;
  std::string key_;
  Whom whom_;
};

// What a service has answered to a call.
struct ServiceAnswer {
  CallResult result;
  std::string text;  // the whole of it, as the service wrote it
};

// A name as a part of a path.
[[nodiscard]] std::string in_path(std::string_view name);

// The text of a member; empty: there is none, or it is something else.
[[nodiscard]] std::string text_in(const json::object& object, std::string_view key);

// A call as the service's API takes it.
[[nodiscard]] std::string call_body(const CallRequest& request);

// The answer of a service as a result, as far as a person is told of it.
[[nodiscard]] Result<CallResult> read_result(std::string_view body);

// The error of an answer that says that the key is not known; nothing: it says something else.
[[nodiscard]] Result<void> check_key_known(const HttpReply& reply);

// Puts the contents of the result's artifacts into it.
[[nodiscard]] Result<void> bring_artifacts(const ServiceTalk& talk, CallResult& result);

}  // namespace sallyport
