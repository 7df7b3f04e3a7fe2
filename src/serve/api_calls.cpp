// Calls over HTTP: made, followed, fetched, cancelled.
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "base/call_id.h"
#include "base/clock.h"
#include "base/recycled.h"
#include "base/text.h"
#include "policy/rules.h"
#include "serve/call_body.h"
#include "serve/call_round.h"
#include "serve/pending_call.h"
#include "serve/routes.h"

namespace sallyport {
namespace {

constexpr std::string_view kEvents = "text/event-stream";

bool wants_events(const HttpRequest& request) {
  return request.header("accept").find(kEvents) != std::string_view::npos;
}

// The W3C trace context, "00-TRACE-PARENT-FLAGS", or nothing.
std::string trace_of(const HttpRequest& request) {
  const std::string_view text = request.header("traceparent");
  if (text.size() != 55 || text[2] != '-' || text[35] != '-' || text[52] != '-') return {};
  const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  for (std::size_t i = 0; i < text.size(); ++i)
    if (i != 2 && i != 35 && i != 52 && !is_hex(text[i])) return {};
  const auto is_zero = [](std::string_view id) { return id.find_first_not_of('0') == id.npos; };
  if (text.starts_with("ff") || is_zero(text.substr(3, 32)) || is_zero(text.substr(36, 16)))
    return {};
  return std::string(text);
}

unsigned status_of(const CallResult& result) {
  return result.rule == kMalformedBody ? 400 : http_status(result);
}

HttpResponse response_with(const CallResult& result, std::string_view text) {
  HttpResponse response{.status = status_of(result)};
  response.body.reserve(text.size() + 1);
  response.body.append(text).push_back('\n');
  response.headers.emplace_back("Sallyport-Call-Id", result.call_id);
  // Nobody knows when a call that is in flight will end.
  const std::int64_t wait_ms = result.retry_after_ms.value_or(1000);
  if (response.status == 429)
    response.headers.emplace_back("Retry-After", std::to_string((wait_ms + 999) / 1000));
  return response;
}

HttpResponse result_response(const CallResult& result, const EndedCall& ended) {
  return response_with(result, ended.json);
}

// The four fields that tutorials know. Whatever was decided, the answer is a 200.
HttpResponse execute_response(const CallResult& result, const EndedCall&) {
  json::object body{{"success", result.status == Status::success}};
  if (result.status == Status::blocked || result.status == Status::pending) {
    body["output"] = "Code blocked: " + to_utf8(result.message);
    body["error"] = result.hint.empty() ? to_utf8(result.message) : to_utf8(result.hint);
  } else {
    body["output"] = result.output.empty() && result.data ? json::serialize(*result.data)
                                                          : to_utf8(result.output);
    body["error"] = to_utf8(result.error.empty() ? result.message : result.error);
  }
  body["execution_time_ms"] = (result.usage.wall_us + 500) / 1000;
  HttpResponse response{.body = json::serialize(body) + "\n"};
  response.headers.emplace_back("Sallyport-Call-Id", result.call_id);
  return response;
}

// `run_command` calls its code a command.
void name_code(const Rules& rules, CallRequest& request) {
  const auto tool = rules.tools.find(request.tool);
  if (tool == rules.tools.end() || tool->second.find_argument("code") != nullptr ||
      tool->second.find_argument("command") == nullptr)
    return;
  request.arguments["command"] = request.arguments["code"];
  request.arguments.erase("code");
}

// Random bytes for several ids at once: asking the kernel for each would be one more system call of
// every call. A service does not fork, so no other process has the same stock.
ssize_t from_stock(void* out, std::size_t size, unsigned flags) {
  thread_local std::array<unsigned char, 256> stock;  // so many are given whole, or not at all
  thread_local std::size_t used = stock.size();
  if (stock.size() - used < size) {
    if (const ssize_t got = ::getrandom(stock.data(), stock.size(), flags);
        got != static_cast<ssize_t>(stock.size()))
      return got < 0 ? got : 0;
    used = 0;
  }
  std::memcpy(out, stock.data() + used, size);
  used += size;
  return static_cast<ssize_t>(size);
}

void follow(Exchange& exchange, const std::shared_ptr<ServedCall>& call, std::uint64_t after) {
  exchange.service.metrics.http_status(200);
  const json::object begin{{"call_id", call->id}};
  auto stream =
      exchange.responder.stream({.body = "event: call\ndata: " + json::serialize(begin) + "\n\n",
                                 .type = kEvents,
                                 .headers = {{"Sallyport-Call-Id", call->id}}});
  // Whoever is one too many is cut off by the end of the stream.
  (void)call->follow(std::move(stream), after);
}

// How a call is made of a request, and its answer of the result.
struct Form {
  PendingCall::Parse parse;
  PendingCall::Respond respond;
};

std::shared_ptr<PendingCall> make_call(Exchange& exchange, Form form) {
  auto call = std::allocate_shared<PendingCall>(RecycledAllocator<PendingCall>(), exchange.service,
                                                exchange.policy);
  call->parse = form.parse;
  call->respond = form.respond;
  call->arrived_ns = monotonic_ns();
  return call;
}

// Hands the call to the queue. Its request has what the body and the path say.
void start(Exchange& exchange, const std::shared_ptr<PendingCall>& call) {
  Service& service = exchange.service;
  CallRequest& request = call->made.request;
  request.caller = std::move(exchange.visitor.caller);
  request.scopes = std::move(exchange.visitor.scopes);
  request.key_id = std::move(exchange.visitor.key_id);
  request.address = std::move(exchange.request.address);
  request.trace = trace_of(exchange.request);
  request.call_id = make_call_id(from_stock);
  call->tenant = std::move(exchange.visitor.tenant);
  call->body = std::move(exchange.request.body);
  call->served = service.board.begin(request.call_id, call->tenant, request.caller, request.tool);
  if (call->streaming)
    follow(exchange, call->served, 0);
  else
    call->responder = std::move(exchange.responder);
  if (!call->streaming && service.boundary.is_inline(request.tool)) return gather(call);
  if (!service.queue.push(call->tenant, call->body.size(), [call] { run_call(call); }))
    turn_away(call);
}

// Only its own caller, and whoever administers the tenant, may look at a call.
std::shared_ptr<ServedCall> find_call(Exchange& exchange) {
  auto call = exchange.service.board.find(exchange.parts.at(0), exchange.visitor.tenant);
  if (call != nullptr && call->caller != exchange.visitor.caller && !exchange.may("admin"))
    call = nullptr;
  if (call == nullptr)
    exchange.refuse(404, Reason::argument, "there is no call of this id",
                    "calls are known while they run and for ten minutes after");
  return call;
}

Result<void> parse_body(std::string_view body, CallRequest& request) {
  auto parsed = parse_call_body(body);
  if (!parsed) return std::unexpected(parsed.error());
  request.arguments = std::move(parsed->arguments);
  request.input = std::move(parsed->input);
  request.files = std::move(parsed->files);
  request.collect = std::move(parsed->collect);
  request.limits = std::move(parsed->limits);
  request.dry_run = parsed->dry_run;
  request.client = std::move(parsed->client);
  if (request.idempotency_key.empty()) request.idempotency_key = std::move(parsed->idempotency_key);
  return {};
}

// The request of /execute is small, and has been read.
Result<void> nothing_to_parse(std::string_view, CallRequest&) {
  return {};
}

}  // namespace

void handle_call(Exchange exchange) {
  const auto call = make_call(exchange, {.parse = parse_body, .respond = result_response});
  CallRequest& request = call->made.request;
  request.tool = std::move(exchange.parts.at(0));
  // As a field or as the header that others use; never to be passed over.
  if (const std::string_view key = exchange.request.header("idempotency-key"); !key.empty())
    request.idempotency_key = key;
  call->streaming = wants_events(exchange.request);
  start(exchange, call);
}

void handle_execute(Exchange exchange) {
  auto request = parse_execute_body(exchange.request.body);
  if (request) name_code(exchange.policy.rules(), *request);
  if (!request) {
    const Error& error = request.error();
    return exchange.send({{"success", false},
                          {"output", ""},
                          {"error", error.message + (error.hint.empty() ? "" : "; " + error.hint)},
                          {"execution_time_ms", 0}});
  }
  const auto call = make_call(exchange, {.parse = nothing_to_parse, .respond = execute_response});
  call->made.request = std::move(*request);
  start(exchange, call);
}

void refuse_stranger(Exchange exchange, std::string_view why) {
  CallRequest request;
  request.address = exchange.request.address;
  request.tool = exchange.parts.empty() ? "" : exchange.parts.at(0);
  const auto shared = std::make_shared<Exchange>(std::move(exchange));
  const auto refuse = [shared, request = std::move(request), why = std::string(why)] {
    const CallResult result = shared->service.boundary.refuse(
        request, Reason::permission, "callers", why,
        "send Authorization: Bearer KEY; `sallyport key add CALLER` makes one");
    shared->service.metrics.observe(result, {}, 0);
    HttpResponse response = response_with(result, to_json_text(result));
    response.status = result.reason == Reason::permission ? 401 : response.status;
    shared->send(std::move(response));
  };
  // Strangers share one place in the queue; those who find it full get the same answer, and no
  // record.
  if (!shared->service.queue.push("", 0, refuse))
    shared->refuse(401, Reason::permission, why, "send Authorization: Bearer KEY");
}

void handle_get_call(Exchange exchange) {
  const auto call = find_call(exchange);
  if (call == nullptr) return;
  if (wants_events(exchange.request)) {
    std::uint64_t after = 0;
    std::string from(exchange.request.header("last-event-id"));
    if (const auto offset = exchange.query("offset")) from = *offset;
    const char* const end = from.data() + from.size();
    const auto read = std::from_chars(from.data(), end, after);
    if (!from.empty() && (read.ec != std::errc() || read.ptr != end))
      return exchange.refuse(400, Reason::argument, "the offset is not a number",
                             "it is the id of the last event that was seen");
    return follow(exchange, call, after);
  }
  if (const auto result = call->result()) return exchange.send({.body = result->json + "\n"});
  exchange.send({{"call_id", call->id},
                 {"status", "running"},
                 {"tool", call->tool},
                 {"caller", call->caller}});
}

void handle_get_artifact(Exchange exchange) {
  const auto call = find_call(exchange);
  if (call == nullptr) return;
  const auto result = call->result();
  const std::string& name = exchange.parts.at(1);
  if (result == nullptr || !result->collected.contains(name))
    return exchange.refuse(404, Reason::argument, "the call has no artifact " + quoted(name),
                           result == nullptr ? "it has not ended" : "");
  // Never anything that a browser would show: it comes from the tool.
  exchange.send(
      {.body = result->collected.at(name),
       .type = "application/octet-stream",
       .headers = {{"Content-Disposition", "attachment"}, {"Content-Security-Policy", "sandbox"}}});
}

void handle_cancel(Exchange exchange) {
  const auto call = find_call(exchange);
  if (call == nullptr) return;
  if (const auto result = call->result()) return exchange.send({.body = result->json + "\n"});
  call->cancel();
  exchange.send({{"call_id", call->id},
                 {"status", "cancelling"},
                 {"tool", call->tool},
                 {"caller", call->caller}},
                202);
}

}  // namespace sallyport
