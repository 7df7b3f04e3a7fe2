#include "tool/fetch_call.h"

#include <algorithm>

#include "base/text.h"
#include "egress/network_map.h"
#include "http/characters.h"
#include "policy/network_access.h"
#include "policy/words.h"
#include "tool/request_template.h"

namespace sallyport {
namespace {

constexpr std::size_t kMostNamed = 20;

using Fault = std::unexpected<FetchFault>;

Fault refuse(std::string key, Error error) {
  return std::unexpected(FetchFault{std::move(error), std::move(key)});
}
Fault refuse(std::string key, std::string message, std::string hint) {
  return refuse(std::move(key), {Reason::argument, std::move(message), std::move(hint)});
}

bool has_header(const FetchOrder& order, std::string_view name) {
  return std::ranges::any_of(order.headers, [name](const auto& header) {
    return equal_ignoring_case(header.first, name);
  });
}

std::string place_text(std::string_view scheme, const std::string& host, std::uint16_t port) {
  std::string text = std::string(scheme) + "://" + host;
  if (port != (scheme == "https" ? 443 : 80)) text.append(":").append(std::to_string(port));
  return text;
}

// What a request could reach, as a model would write it.
std::vector<std::string> reachable(const EgressRules& rules) {
  std::vector<std::string> list;
  for (const EgressRule& rule : rules.allow) {
    if (rule.scheme != EgressScheme::https && rule.scheme != EgressScheme::http) continue;
    std::string place = place_text(name_of(rule.scheme), rule.host, rule.port);
    if (list.size() < kMostNamed && std::ranges::find(list, place) == list.end())
      list.push_back(std::move(place));
  }
  return list;
}

std::expected<void, FetchFault> check_reach(const EgressRules& rules, const FetchOrder& order) {
  const auto map = NetworkMap::make(rules);
  if (!map) return refuse("network", map.error());
  const auto url = Url::parse(order.url);
  if (!url) return refuse("args.url", url.error());
  const auto* name = std::get_if<HostName>(&url->host());
  const auto fits = [&](const EgressRule* rule) { return name_of(rule->scheme) == url->scheme(); };
  if (name != nullptr && std::ranges::any_of(map->rules_for(*name, url->port()), fits)) return {};
  return refuse(
      "network",
      "this tool may not reach " + quoted(place_text(url->scheme(), url->host_text(), url->port())),
      order.allowed.empty() ? "it may reach no host at all"
                            : "it may reach: " + list_names(order.allowed, "or"));
}

std::expected<void, FetchFault> read_arguments(const Tool& tool, const json::object& arguments,
                                               FetchOrder& order) {
  const auto text = [&](std::string_view name) {
    const json::value* value = arguments.if_contains(name);
    return value != nullptr && value->is_string() ? std::string(value->get_string())
                                                  : std::string();
  };
  order.url = text("url");
  if (arguments.contains("method")) order.method = text("method");
  const auto methods = fetch_methods(tool);
  if (std::ranges::find(methods, order.method) == methods.end())
    return refuse("methods", "this tool does not send " + quoted(order.method),
                  "allowed: " + list_names(methods, "or"));
  if (const json::value* headers = arguments.if_contains("headers");
      headers != nullptr && headers->is_object())
    for (const auto& [name, value] : headers->get_object()) {
      if (!value.is_string()) return refuse("args.headers", "a header is not a text", "");
      if (auto checked = check_fetch_header(name, value.get_string()); !checked)
        return refuse("args.headers", checked.error());
      if (has_header(order, name))
        return refuse("args.headers", "the header " + quoted(name) + " is given twice",
                      "give it once");
      order.headers.emplace_back(name, value.get_string());
    }
  if (arguments.contains("body")) order.body = text("body");
  if (order.body && (order.method == "GET" || order.method == "HEAD"))
    return refuse("args.body", order.method + " sends no body", "leave `body` out");
  if (order.body && !has_header(order, "content-type"))
    order.headers.emplace_back("Content-Type", "text/plain; charset=utf-8");
  const json::value* readable = arguments.if_contains("text");
  order.readable = readable != nullptr && readable->is_bool() && readable->get_bool();
  return {};
}

std::expected<void, FetchFault> fill(const Tool& tool, const json::object& arguments,
                                     FetchOrder& order) {
  auto filled = fill_request(tool, arguments);
  if (!filled) return refuse("http", filled.error());
  order.method = tool.http.method;
  order.url = std::move(filled->url);
  order.headers = std::move(filled->headers);
  order.body = std::move(filled->body);
  if (order.body && !has_header(order, "content-type"))
    order.headers.emplace_back("Content-Type", "application/json");
  order.form = answers_json(tool) ? FetchForm::json : FetchForm::text;
  if (order.form == FetchForm::json && !has_header(order, "accept"))
    order.headers.emplace_back("Accept", "application/json");
  return {};
}

}  // namespace

bool is_http_fetch(const Tool& tool) {
  return tool.kind == ToolKind::builtin && tool.builtin == Builtin::http_fetch;
}

std::expected<FetchOrder, FetchFault> make_request(const Ceiling& ceiling, const Tool& tool,
                                                   const json::object& arguments) {
  FetchOrder order;
  const EgressRules rules = network_access(ceiling, tool);
  order.allowed = reachable(rules);
  auto made = tool.kind == ToolKind::http ? fill(tool, arguments, order)
                                          : read_arguments(tool, arguments, order);
  if (made) made = check_reach(rules, order);
  if (!made) return std::unexpected(std::move(made.error()));
  return order;
}

Result<FetchOrder> make_fetch_order(const ToolCall& call) {
  static const Ceiling kNone;
  auto order = make_request(call.envelope.ceiling != nullptr ? *call.envelope.ceiling : kNone,
                            call.tool, call.arguments);
  if (!order) return std::unexpected(std::move(order.error().error));
  order->max_answer = call.limits.max_result.bytes;
  // One byte more than may come back, so that what is too much is seen as such.
  switch (order->form) {
    case FetchForm::document:
      order->most_bytes = order->max_answer;
      break;
    case FetchForm::text:
      order->most_bytes = captured_output(call.tool, call.limits).bytes + 1;
      break;
    case FetchForm::json:
      order->most_bytes = order->max_answer + 1;
      break;
  }
  // A page has several times more markup than text.
  constexpr std::uint64_t kMarkup = 20, kShare = 16;
  if (order->readable)
    order->most_bytes = std::max(order->most_bytes, std::min(order->most_bytes * kMarkup,
                                                             call.limits.memory.bytes / kShare));
  // It is to end by itself and say why, before the cell's limit ends it. Beginning and ending take
  // a while on a loaded machine, however short the limit is.
  const std::int64_t milliseconds =
      std::chrono::duration_cast<std::chrono::milliseconds>(call.limits.timeout).count();
  constexpr std::int64_t kToEnd = 1000;
  const std::int64_t spare = std::max(milliseconds / 10, std::min(milliseconds / 4, kToEnd));
  order->milliseconds = static_cast<std::uint64_t>(std::max<std::int64_t>(milliseconds - spare, 1));
  return std::move(*order);
}

}  // namespace sallyport
