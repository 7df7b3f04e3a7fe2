#include "serve/api.h"

#include <algorithm>
#include <chrono>

#include "base/text.h"
#include "http/parse.h"
#include "policy/envelope.h"
#include "policy/rules.h"
#include "serve/routes.h"

namespace sallyport {
namespace {

Moment wall_clock() {
  return std::chrono::duration_cast<Moment>(std::chrono::system_clock::now().time_since_epoch());
}

// The part of the path up to the next slash, which is taken off; none: there is no more.
std::optional<std::string_view> next_part(std::string_view& path) {
  if (path.empty()) return std::nullopt;
  path.remove_prefix(1);
  const std::size_t end = std::min(path.find('/'), path.size());
  const std::string_view part = path.substr(0, end);
  path.remove_prefix(end);
  return part;
}

// Whether the path is one of the pattern; what the placeholders stand for.
std::optional<std::vector<std::string>> match(std::string_view pattern, std::string_view path) {
  std::vector<std::string> parts;
  while (const auto wanted = next_part(pattern)) {
    const std::string_view rest = path;
    const auto given = next_part(path);
    if (!given) return std::nullopt;
    if (wanted->ends_with("+}")) {
      if (rest.size() <= 1) return std::nullopt;
      parts.emplace_back(rest.substr(1));
      return parts;
    }
    if (wanted->starts_with('{')) {
      if (given->empty()) return std::nullopt;
      parts.emplace_back(*given);
    } else if (*wanted != *given) {
      return std::nullopt;
    }
  }
  if (!path.empty()) return std::nullopt;
  return parts;
}

// The credential of a request; empty: it has none. Two of them are a mistake or a trick.
Result<std::string_view> credential_of(const HttpRequest& request) {
  const std::string_view authorization = request.header("authorization");
  const std::string_view key = request.header("x-api-key");
  const auto is_credential = [](const auto& header) {
    return header.first == "authorization" || header.first == "x-api-key";
  };
  if (std::ranges::count_if(request.headers, is_credential) > 1)
    return fail(Reason::argument, "the request has two keys", "leave one out");
  if (authorization.empty()) return key;
  constexpr std::string_view kBearer = "bearer ";
  const auto same = [](char a, char b) { return (a | 0x20) == b || a == b; };
  if (authorization.size() <= kBearer.size() ||
      !std::ranges::equal(authorization.substr(0, kBearer.size()), kBearer, same))
    return fail(Reason::permission, "the Authorization header is not of the kind Bearer",
                "write Authorization: Bearer KEY");
  return authorization.substr(kBearer.size());
}

// The keys, looked at once for the requests that came together: each of those was on its way before
// that look, and what comes later is judged by what the file says then.
Result<KnownKeys> known_keys(const Service& service) {
  struct Seen {
    const KeyRing* ring;
    KnownKeys keys;
  };
  thread_local std::optional<Seen> seen;
  if (seen && seen->ring == &service.keys) return seen->keys;
  auto keys = service.keys.look();
  if (!keys) return keys;
  try {
    seen.emplace(&service.keys, *keys);
    after_these_requests([] { seen.reset(); });
  } catch (...) {  // no memory: it would be kept for ever
    seen.reset();
  }
  return keys;
}

// Who shows a key is its caller; who shows a certificate is the caller of its name; everybody else
// is `anonymous`, if the policy has such a caller.
Result<Visitor> identify_visitor(const Service& service, const Rules& rules,
                                 const HttpRequest& request) {
  if (request.by_operator)
    return Visitor{
        .caller = "operator", .tenant = {}, .key_id = {}, .scopes = {}, .is_operator = true};
  const auto credential = credential_of(request);
  if (!credential) return std::unexpected(credential.error());
  Visitor visitor;
  if (!credential->empty()) {
    const auto keys = known_keys(service);
    if (!keys) return std::unexpected(keys.error());
    const auto key = keys->find(*credential, wall_clock());
    if (!key) return std::unexpected(key.error());
    visitor = {.caller = (*key)->caller,
               .tenant = {},
               .key_id = (*key)->id,
               .scopes = (*key)->scopes,
               .is_operator = false};
  } else if (!request.client_certificate.empty()) {
    visitor.caller = request.client_certificate;
  } else {
    visitor.caller = "anonymous";
    if (!rules.callers.contains("anonymous"))
      return fail(Reason::permission, "the request has no key",
                  "send Authorization: Bearer KEY; `sallyport key add CALLER` makes one");
  }
  if (const auto caller = rules.callers.find(visitor.caller); caller != rules.callers.end())
    visitor.tenant = caller->second.tenant;
  return visitor;
}

HttpResponse with_challenge(HttpResponse response) {
  if (response.status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

// A filter that is not understood must not be taken for one that found everything.
std::string unknown_parameter(const HttpRequest& request, const Route& route) {
  HttpHeaders values;
  if (!parse_query(request.query, values)) return request.query;
  for (const auto& [name, value] : values)
    if (std::ranges::find(route.parameters, std::string_view(name), &Parameter::name) ==
        route.parameters.end())
      return name;
  return {};
}

void enter(Exchange exchange, const Route& route) {
  if (route.access == RouteAccess::everybody) return route.handle(std::move(exchange));
  auto visitor = identify_visitor(exchange.service, exchange.policy.rules(), exchange.request);
  if (!visitor) {
    const Error& error = visitor.error();
    if (error.reason == Reason::unavailable || error.reason == Reason::argument)
      return exchange.refuse(error.reason == Reason::argument ? 400 : 503, error.reason,
                             error.message, error.hint);
    if (route.access == RouteAccess::call)
      return refuse_stranger(std::move(exchange), error.message);
    return exchange.refuse(401, Reason::permission, error.message, error.hint);
  }
  exchange.visitor = std::move(*visitor);
  if (const std::string odd = unknown_parameter(exchange.request, route); !odd.empty())
    return exchange.refuse(400, Reason::argument, "there is no parameter " + quoted(odd),
                           "/openapi.json lists them");
  if (!route.permission.empty() && !exchange.may(route.permission))
    return exchange.refuse(403, Reason::permission,
                           exchange.visitor.caller + " lacks " + std::string(route.permission),
                           "a role in the policy gives permissions, and a key may narrow them");
  route.handle(std::move(exchange));
}

}  // namespace

std::optional<std::string> known_caller(const Service& service, const HttpRequest& head) {
  auto visitor = identify_visitor(service, service.boundary.policy().rules(), head);
  return visitor ? std::optional(std::move(visitor->caller)) : std::nullopt;
}

void Exchange::send(HttpResponse response) {
  service.metrics.http_status(response.status);
  responder.send(with_challenge(std::move(response)));
}

void Exchange::send(const json::object& body, unsigned status) {
  send({.status = status, .body = json::serialize(body) + "\n"});
}

void Exchange::refuse(unsigned status, Reason reason, std::string_view message,
                      std::string_view hint) {
  send(problem(status, reason, message, hint));
}

std::optional<std::string> Exchange::query(std::string_view name) const {
  HttpHeaders values;
  if (!parse_query(request.query, values)) return std::nullopt;
  const auto found = std::ranges::find(values, name, &HttpHeaders::value_type::first);
  return found != values.end() ? std::optional(found->second) : std::nullopt;
}

bool Exchange::may(std::string_view permission) const {
  if (visitor.is_operator) return true;
  const Rules& rules = policy.rules();
  const auto caller = rules.callers.find(visitor.caller);
  if (caller == rules.callers.end()) return false;
  const auto role = rules.roles.find(caller->second.role);
  Tool asked;
  asked.needs = {std::string(permission)};
  if (!missing_permissions(asked, role != rules.roles.end() ? &role->second : nullptr).empty())
    return false;
  return !visitor.scopes || std::ranges::find(*visitor.scopes, permission) != visitor.scopes->end();
}

HttpResponse problem(unsigned status, Reason reason, std::string_view message,
                     std::string_view hint) {
  json::object body{
      {"status", "blocked"}, {"reason", name_of(reason)}, {"message", to_utf8(message)}};
  if (!hint.empty()) body["hint"] = to_utf8(hint);
  return {.status = status, .body = json::serialize(body) + "\n"};
}

HttpResponse server_problem(unsigned status, std::string_view sentence, const HttpLimits& limits) {
  const auto kib = [](std::size_t bytes) { return std::to_string(bytes >> 10) + " KiB"; };
  const auto seconds = [](std::chrono::milliseconds time) {
    return std::to_string(std::chrono::ceil<std::chrono::seconds>(time).count()) + " seconds";
  };
  std::string hint;
  switch (status) {
    case 408:
      hint = "all headers have to come within " + seconds(limits.header_time) +
             ", and the body within " + seconds(limits.body_time);
      break;
    case 413:
      hint = "a body may have " + std::to_string(limits.body_bytes >> 20) + " MiB, and " +
             kib(kStrangersBody) + " without a key that is known";
      break;
    case 414:
      hint = "the request line and all headers may have " + kib(limits.header_bytes) + ", and " +
             kib(HttpHeadParser::kLongestRequestLine) + " of them are for the request line";
      break;
    case 421:
      hint =
          "allowed are localhost, the addresses that are listened on, and the names that "
          "`sallyport serve --host NAME` gives";
      break;
    case 431:
      hint = "the request line and all headers may have " + kib(limits.header_bytes) + ", and " +
             std::to_string(HttpHeadParser::kMostHeaders) + " headers are the most";
      break;
    case 503:
      hint = "try again in a second";
      break;
    default:
      break;
  }
  return problem(status, status >= 500 ? Reason::unavailable : Reason::argument, sentence, hint);
}

void answer(Service& service, HttpRequest request, Responder responder) {
  std::string allowed;
  const std::string method = request.method == "HEAD" ? "GET" : request.method;
  for (const Route& route : routes()) {
    auto parts = match(route.path, request.path);
    if (!parts) continue;
    if (route.method == method)
      return enter({.service = service,
                    .request = std::move(request),
                    .responder = std::move(responder),
                    .policy = service.boundary.policy(),
                    .visitor = {},
                    .parts = std::move(*parts)},
                   route);
    allowed.append(allowed.empty() ? "" : ", ").append(route.method);
  }
  HttpResponse response =
      allowed.empty()
          ? problem(404, Reason::argument, "there is nothing at " + quoted(request.path),
                    "/openapi.json lists what there is")
          : problem(405, Reason::argument, "the method is not " + allowed);
  if (!allowed.empty()) response.headers.emplace_back("Allow", allowed);
  service.metrics.http_status(response.status);
  responder.send(std::move(response));
}

unsigned http_status(const CallResult& result) {
  if (result.status == Status::pending) return 202;
  if (result.status != Status::blocked) return 200;
  switch (result.reason) {
    case Reason::permission:
    case Reason::approval:
    case Reason::rejected:
    case Reason::expired:
      return 403;
    case Reason::unknown_tool:
      return 404;
    case Reason::in_flight:
    case Reason::key_reused:
      return 409;
    case Reason::argument:
    case Reason::screen:
      return 422;
    case Reason::rate_limit:
    case Reason::concurrency:
    case Reason::budget:
    case Reason::locked_out:
      return 429;
    default:
      return 503;
  }
}

}  // namespace sallyport
