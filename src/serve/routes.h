// The routes of the HTTP API and what their handlers get.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "serve/api.h"
#include "serve/service.h"

namespace sallyport {

// Who asks, as far as the credential tells.
struct Visitor {
  std::string caller;
  std::string tenant;  // of the caller; empty: the policy does not know the caller
  std::string key_id;
  std::optional<std::vector<std::string>> scopes;
  bool is_operator = false;  // of the service: above all tenants
};

// One request on its way to its answer.
struct Exchange {
  Service& service;
  HttpRequest request;
  Responder responder;
  Policy policy;  // in force when the request came
  Visitor visitor;
  std::vector<std::string> parts;  // what the placeholders of the path stand for

  void send(HttpResponse response);
  void send(const json::object& body, unsigned status = 200);
  void refuse(unsigned status, Reason reason, std::string_view message, std::string_view hint = {});
  // The value in the query; none: it is not there.
  [[nodiscard]] std::optional<std::string> query(std::string_view name) const;
  // Whether the visitor's role and key give this permission.
  [[nodiscard]] bool may(std::string_view permission) const;
};

enum class RouteAccess {
  everybody,  // no key
  caller,     // a key of a caller
  call,       // the same, but a wrong key is a refused call: it is recorded, and counts
};

struct Parameter {
  std::string_view name, description;
};

struct Route {
  std::string_view method;
  std::string_view path;  // "{x}" stands for one part, "{x+}" at the end for all that is left
  RouteAccess access;
  std::string_view permission;  // that the caller needs; empty: none of its own
  std::string_view name, summary;
  std::string_view request, response;  // names of schemas in openapi.cpp; empty: no JSON
  std::string_view response_type;      // of the answer when all is well
  std::vector<unsigned> statuses;      // beside those that every route has
  std::vector<Parameter> parameters;   // of the query
  void (*handle)(Exchange exchange);
};

[[nodiscard]] std::span<const Route> routes();

// Handlers, in api_calls.cpp.
void handle_call(Exchange exchange);
void handle_execute(Exchange exchange);
void handle_get_call(Exchange exchange);
void handle_get_artifact(Exchange exchange);
void handle_cancel(Exchange exchange);
// A call without a credential that is known.
void refuse_stranger(Exchange exchange, std::string_view why);

// Handlers, in api_operate.cpp.
void handle_tools(Exchange exchange);
void handle_audit(Exchange exchange);
void handle_metrics(Exchange exchange);
void handle_openapi(Exchange exchange);
void handle_health(Exchange exchange);
void handle_ready(Exchange exchange);
void handle_reload(Exchange exchange);
void handle_lockouts(Exchange exchange);
void handle_lift(Exchange exchange);
void handle_running(Exchange exchange);

}  // namespace sallyport
