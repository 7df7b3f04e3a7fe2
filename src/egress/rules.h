// What a cell may reach, as plain values that travel from the policy to the egress process.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/wire.h"
#include "sallyport/network_event.h"
#include "sallyport/units.h"

namespace sallyport {

// What is spoken. It decides by what a connection is known: https by the server name of its TLS
// hello, http by the Host of every request, the others by the address that the cell dialled.
enum class EgressScheme : std::uint8_t { https, http, postgres, tcp };
[[nodiscard]] std::string_view name_of(EgressScheme scheme);

struct EgressRule {
  std::string host;  // a HostPattern
  std::uint16_t port = 443;
  EgressScheme scheme = EgressScheme::https;
  bool internal = false;                    // it may lead to an address that is not of the internet
  bool inspect = false;                     // https is looked into: each request is judged
  std::string address;                      // that is dialled in place of what a resolver says
  std::vector<std::string> methods, paths;  // of http; empty: all
  std::string id;                           // in records: "tools.python.network.allow[0]"
  bool operator==(const EgressRule&) const = default;
};

struct EgressRules {
  std::vector<EgressRule> allow;    // empty: there is no network
  std::vector<std::string> deny;    // HostPatterns that beat `allow`
  std::uint32_t requests = 10;      // connections, and requests of http, of one call
  std::uint32_t connections = 256;  // at a time
  ByteSize upload = 10_MB;          // of one call
  ByteSize download = 100_MB;       // of one call
  bool operator==(const EgressRules&) const = default;
};

// Whether the cell has an authority of its own, which it has to trust.
[[nodiscard]] inline bool has_inspection(const EgressRules& rules) {
  return std::ranges::any_of(rules.allow, &EgressRule::inspect);
}

template <class Wire>
void visit(Wire& wire, EgressRule& rule) {
  auto& [host, port, scheme, internal, inspect, address, methods, paths, id] = rule;
  visit(wire, host);
  visit(wire, port);
  visit_enum(wire, scheme, EgressScheme::tcp);
  visit(wire, internal);
  visit(wire, inspect);
  visit(wire, address);
  visit(wire, methods);
  visit(wire, paths);
  visit(wire, id);
}

template <class Wire>
void visit(Wire& wire, EgressRules& rules) {
  auto& [allow, deny, requests, connections, upload, download] = rules;
  visit_list(wire, allow, [](Wire& to, EgressRule& rule) { visit(to, rule); });
  visit(wire, deny);
  visit(wire, requests);
  visit(wire, connections);
  visit(wire, upload);
  visit(wire, download);
}

template <class Wire>
void visit(Wire& wire, NetworkEvent& event) {
  auto& [kind, verdict, host, port, address, sent, received, rule, why] = event;
  for (std::string* text : {&kind, &verdict, &host})
    visit_bytes(wire, *text);
  visit(wire, port);
  visit_bytes(wire, address);
  visit(wire, sent);
  visit(wire, received);
  visit_bytes(wire, rule);
  visit_bytes(wire, why);
}

}  // namespace sallyport
