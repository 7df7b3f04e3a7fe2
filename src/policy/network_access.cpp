#include "policy/network_access.h"

#include <algorithm>

namespace sallyport {
namespace {

EgressScheme scheme_of(std::string_view name) {
  for (const EgressScheme scheme :
       {EgressScheme::https, EgressScheme::http, EgressScheme::postgres})
    if (name == name_of(scheme)) return scheme;
  return EgressScheme::tcp;
}

// The directory of the path, or all of it if the policy has written it out.
std::vector<std::string> narrowed_paths(const HttpRequestRule& request, const Url& url) {
  const std::string& path = url.path();
  // Rules are held against decoded paths.
  if (path.contains('%')) return {};
  const std::size_t placeholder = request.url.find('{');
  if (placeholder == std::string::npos || request.url.find('?') < placeholder) return {path};
  return {path.substr(0, path.rfind('/') + 1)};
}

std::optional<EgressRule> request_rule(const Tool& tool) {
  if (tool.kind != ToolKind::http) return std::nullopt;
  const auto url = fixed_part(tool.http);
  if (!url || !std::holds_alternative<HostName>(url->host())) return std::nullopt;
  EgressRule rule{.host = url->host_text(),
                  .port = url->port(),
                  .scheme = scheme_of(url->scheme()),
                  .id = "tools." + tool.name + ".http"};
  if (rule.scheme == EgressScheme::http) {
    rule.methods = {tool.http.method};
    rule.paths = narrowed_paths(tool.http, *url);
  }
  return rule;
}

}  // namespace

std::optional<Url> fixed_part(const HttpRequestRule& request) {
  auto url = Url::parse(request.url.substr(0, request.url.find_first_of("{?")),
                        {.allow_ip = true, .allow_internal = true});
  return url ? std::optional(std::move(*url)) : std::nullopt;
}

std::vector<std::string> fetch_methods(const Tool& tool) {
  return tool.methods.empty() ? std::vector<std::string>{"GET", "HEAD"} : tool.methods;
}

EgressRules network_access(const Ceiling& ceiling, const Tool& tool) {
  EgressRules rules;
  const bool fetches = tool.kind == ToolKind::builtin && tool.builtin == Builtin::http_fetch;
  rules.allow.reserve(tool.network.allow.size() + 1);
  for (const HostRule& rule : tool.network.allow)
    rules.allow.push_back({.host = rule.host.to_text(),
                           .port = rule.port,
                           .scheme = scheme_of(rule.scheme),
                           .internal = rule.internal,
                           .inspect = rule.inspect && rule.scheme == "https",
                           .address = rule.address,
                           .methods = rule.methods,
                           .paths = rule.paths,
                           .id = "tools." + tool.name + ".network.allow[" +
                                 std::to_string(rules.allow.size()) + "]"});
  if (fetches)
    for (EgressRule& rule : rules.allow)
      if (rule.scheme == EgressScheme::http && rule.methods.empty())
        rule.methods = fetch_methods(tool);
  if (auto rule = request_rule(tool)) rules.allow.push_back(std::move(*rule));
  rules.deny.reserve(tool.network.deny.size() + ceiling.deny_hosts.size());
  for (const auto* denied : {&tool.network.deny, &ceiling.deny_hosts})
    for (const HostPattern& host : *denied)
      rules.deny.push_back(host.to_text());
  rules.requests = tool.network.requests.value_or(rules.requests);
  rules.connections = tool.network.connections.value_or(rules.connections);
  rules.upload = tool.network.upload.value_or(rules.upload);
  rules.download = tool.network.download.value_or(rules.download);
  return rules;
}

}  // namespace sallyport
