// What is asked about the service itself.
#include <charconv>

#include "access/ledger.h"
#include "audit/search.h"
#include "base/text.h"
#include "policy/rules.h"
#include "policy/tool_definitions.h"
#include "serve/routes.h"

namespace sallyport {
namespace {

// A tenant's administrator has to do with its callers; addresses, and the callers of others, are
// the operator's.
bool concerns(const Exchange& exchange, std::string_view who) {
  if (exchange.visitor.is_operator) return true;
  constexpr std::string_view kCaller = "caller/";
  if (!who.starts_with(kCaller)) return false;
  const auto& callers = exchange.policy.rules().callers;
  const auto caller = callers.find(who.substr(kCaller.size()));
  return caller != callers.end() && caller->second.tenant == exchange.visitor.tenant;
}

}  // namespace

void handle_tools(Exchange exchange) {
  using Row = std::pair<std::string_view, DefinitionFormat>;
  constexpr Row kFormats[] = {
      {"openai", DefinitionFormat::openai},
      {"anthropic", DefinitionFormat::anthropic},
      {"mcp", DefinitionFormat::mcp},
      {"json", DefinitionFormat::json},
  };
  const std::string asked = exchange.query("format").value_or("json");
  const auto format = std::ranges::find(kFormats, std::string_view(asked), &Row::first);
  if (format == std::end(kFormats))
    return exchange.refuse(400, Reason::argument, "there is no format " + quoted(asked),
                           "it is openai, anthropic, mcp or json");
  const Rules& rules = exchange.policy.rules();
  const auto caller = rules.callers.find(exchange.visitor.caller);
  if (caller == rules.callers.end())
    return exchange.refuse(403, Reason::permission, "the policy does not know this caller");
  exchange.send({{"tools", tool_definitions(rules, &caller->second, format->second)}});
}

void handle_metrics(Exchange exchange) {
  const HttpNumbers numbers = exchange.service.http();
  MetricGauges gauges{
      .calls_in_flight = exchange.service.board.in_flight(),
      .calls_waiting = exchange.service.queue.waiting() + exchange.service.lanes.waiting(),
      .connections = numbers.connections,
      .connections_accepted = numbers.accepted,
      .http_requests = numbers.requests,
      .http_refused = numbers.refused,
      .policy = exchange.policy.hash()};
  const AuditLag lag = exchange.service.boundary.audit_lag();
  gauges.audit_waiting = lag.waiting;
  gauges.audit_lag_us = static_cast<std::uint64_t>(lag.oldest_us);
  if (exchange.service.traces != nullptr) {
    const TraceNumbers spans = exchange.service.traces->numbers();
    gauges.spans_sent = spans.sent;
    gauges.spans_dropped = spans.dropped;
  }
  if (exchange.service.pool) gauges.pool = exchange.service.pool();
  exchange.send({.body = exchange.service.metrics.render(gauges),
                 .type = "text/plain; version=0.0.4; charset=utf-8"});
}

void handle_openapi(Exchange exchange) {
  static const std::string text = json::serialize(openapi()) + "\n";
  exchange.send({.body = text});
}

void handle_health(Exchange exchange) {
  exchange.send({{"status", "ok"}});
}

void handle_ready(Exchange exchange) {
  if (!exchange.service.ready)
    return exchange.refuse(503, Reason::unavailable, "the service is ending");
  if (auto can = exchange.service.can_run(); !can)
    return exchange.refuse(503, Reason::unavailable, can.error().message, can.error().hint);
  exchange.send({{"status", "ready"}, {"policy", exchange.policy.hash()}});
}

void handle_reload(Exchange exchange) {
  const auto shared = std::make_shared<Exchange>(std::move(exchange));
  const auto reload = [shared] {
    if (auto done = shared->service.reload(); !done)
      return shared->refuse(422, Reason::argument, done.error().message, done.error().hint);
    shared->send({{"status", "reloaded"}, {"policy", shared->service.boundary.policy().hash()}});
  };
  if (!shared->service.queue.push(shared->visitor.tenant, 0, reload))
    shared->refuse(429, Reason::concurrency, "too many requests are waiting");
}

void handle_lockouts(Exchange exchange) {
  auto list = exchange.service.boundary.locked_out();
  if (!list)
    return exchange.refuse(503, Reason::unavailable, list.error().message, list.error().hint);
  json::array entries;
  for (const LockedOut& entry : *list)
    if (concerns(exchange, entry.who))
      entries.push_back(json::object{
          {"who", entry.who}, {"denials", entry.denials}, {"until_us", entry.until.count()}});
  exchange.send({{"locked_out", std::move(entries)}});
}

void handle_lift(Exchange exchange) {
  if (!concerns(exchange, exchange.parts.at(0)))
    return exchange.refuse(404, Reason::argument,
                           quoted(exchange.parts.at(0)) + " is not locked out",
                           "write it as GET /v1/lockouts shows it");
  auto lifted = exchange.service.boundary.lift(exchange.parts.at(0));
  if (!lifted)
    return exchange.refuse(503, Reason::unavailable, lifted.error().message, lifted.error().hint);
  if (!*lifted)
    return exchange.refuse(404, Reason::argument,
                           quoted(exchange.parts.at(0)) + " is not locked out",
                           "write it as GET /v1/lockouts shows it");
  exchange.send({{"lifted", exchange.parts.at(0)}});
}

void handle_running(Exchange exchange) {
  json::array calls;
  const bool all = exchange.may("admin");
  for (const auto& call : exchange.service.board.running())
    if (exchange.visitor.is_operator || (call->tenant == exchange.visitor.tenant &&
                                         (all || call->caller == exchange.visitor.caller)))
      calls.push_back(
          json::object{{"call_id", call->id}, {"tool", call->tool}, {"caller", call->caller}});
  exchange.send({{"calls", std::move(calls)}});
}

void handle_audit(Exchange exchange) {
  constexpr std::uint64_t kMostRecords = 1000, kMostBytes = std::uint64_t{64} << 20;
  AuditQuery query;
  query.tenant = exchange.visitor.tenant;
  query.most_bytes = kMostBytes;
  const std::pair<std::string_view, std::string&> texts[] = {
      {"since", query.since},   {"until", query.until},     {"caller", query.caller},
      {"tool", query.tool},     {"reason", query.reason},   {"status", query.status},
      {"cursor", query.cursor}, {"call_id", query.call_id},
  };
  for (const auto& [name, field] : texts)
    field = exchange.query(name).value_or("");
  const std::string limit = exchange.query("limit").value_or("100");
  std::uint64_t most = 0;
  if (std::from_chars(limit.data(), limit.data() + limit.size(), most).ptr !=
          limit.data() + limit.size() ||
      most == 0 || most > kMostRecords)
    return exchange.refuse(400, Reason::argument, "limit is a number from 1 to 1000");
  query.limit = most;

  const auto shared = std::make_shared<Exchange>(std::move(exchange));
  const auto search = [shared, query = std::move(query)] {
    auto page = search_audit(shared->service.state, query);
    if (!page)
      return shared->refuse(page.error().reason == Reason::argument ? 400 : 503,
                            page.error().reason, page.error().message, page.error().hint);
    json::array records;
    for (json::object& record : page->records)
      records.push_back(std::move(record));
    json::object body{{"records", std::move(records)}};
    if (!page->cursor.empty()) body["cursor"] = page->cursor;
    shared->send(body);
  };
  if (!shared->service.queue.push(shared->visitor.tenant, 0, search))
    shared->refuse(429, Reason::concurrency, "too many requests are waiting");
}

}  // namespace sallyport
