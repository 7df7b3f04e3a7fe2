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

}  // namespace

EgressRules network_access(const Ceiling& ceiling, const Tool& tool) {
  EgressRules rules;
  rules.allow.reserve(tool.network.allow.size());
  for (const HostRule& rule : tool.network.allow)
    rules.allow.push_back({.host = rule.host.to_text(),
                           .port = rule.port,
                           .scheme = scheme_of(rule.scheme),
                           .internal = rule.internal,
                           .address = rule.address,
                           .methods = rule.methods,
                           .paths = rule.paths,
                           .id = "tools." + tool.name + ".network.allow[" +
                                 std::to_string(rules.allow.size()) + "]"});
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
