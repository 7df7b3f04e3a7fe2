// The HTTP API: one table of routes, from which the description for clients is made too.
#pragma once

#include "base/json.h"
#include "http/server.h"
#include "serve/service.h"

namespace sallyport {

// Answers one request. Never blocks: calls go to the queue.
void answer(Service& service, HttpRequest request, Responder responder);

// The name of the caller whose credential the request shows, or "operator"; none: it is not known.
[[nodiscard]] std::optional<std::string> known_caller(const Service& service,
                                                      const HttpRequest& head);

// The description of the API (OpenAPI 3.1).
[[nodiscard]] json::object openapi();

// The body of every answer that is no result: a problem with a reason.
[[nodiscard]] HttpResponse problem(unsigned status, Reason reason, std::string_view message,
                                   std::string_view hint = {});

inline constexpr std::size_t kStrangersBody = 64 << 10;  // without a key that is known

// What the server answers by itself to a request that no handler gets, with a hint at what would be
// allowed.
[[nodiscard]] HttpResponse server_problem(unsigned status, std::string_view sentence,
                                          const HttpLimits& limits);

// The status for the result of a call.
[[nodiscard]] unsigned http_status(const CallResult& result);

}  // namespace sallyport
