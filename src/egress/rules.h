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

// How a credential gets into what a cell sends.
enum class GrantPlace : std::uint8_t {
  placeholder,  // it takes the place of a placeholder that the cell has sent
  bearer,       // Authorization: Bearer
  basic,        // Authorization: Basic
  header,       // a field of its own
  query,        // a parameter of the target
  password      // of postgres
};

// One credential for one call. What it is stands nowhere in it: only the egress process knows that.
struct EgressGrant {
  struct Host {
    std::string host;  // a HostPattern
    std::uint16_t port = 443;
    EgressScheme scheme = EgressScheme::https;
    bool operator==(const Host&) const = default;
  };
  std::string credential;                   // by its name in the policy
  std::vector<Host> to;                     // and nowhere else
  std::vector<std::string> methods, paths;  // empty: all
  GrantPlace place = GrantPlace::placeholder;
  std::string field;     // the header or the parameter; of basic and password: the user, or none
  std::string variable;  // of the cell, with a placeholder; empty: it has none
  std::string shape;     // how the placeholder begins: "ghp_"
  std::vector<std::string> places{};  // of the placeholder: "header:NAME", "query:NAME"; empty: the
                                      // headers that services take keys in
  std::uint32_t uses = 0;             // of one call; 0: any number
  Duration expires{};                 // after the cell began; 0: with it
  bool operator==(const EgressGrant&) const = default;
};

struct EgressRules {
  std::vector<EgressRule> allow;    // empty: there is no network
  std::vector<std::string> deny;    // HostPatterns that beat `allow`
  std::uint32_t requests = 10;      // connections, and requests of http, of one call
  std::uint32_t connections = 256;  // at a time
  ByteSize upload = 10_MB;          // of one call
  ByteSize download = 100_MB;       // of one call
  Duration time{};                  // of one connection; 0: as long as the call
  std::vector<EgressGrant> grants;
  bool operator==(const EgressRules&) const = default;
};

// Whether a credential is for that host, and its scheme is postgres.
[[nodiscard]] inline bool has_password(const EgressRules& rules, const EgressRule& rule) {
  return rule.scheme == EgressScheme::postgres &&
         std::ranges::any_of(rules.grants, [&](const EgressGrant& grant) {
           return std::ranges::any_of(grant.to, [&](const EgressGrant::Host& to) {
             return to.host == rule.host && to.port == rule.port && to.scheme == rule.scheme;
           });
         });
}

// Whether TLS with the host ends in the egress process.
[[nodiscard]] inline bool is_inspected(const EgressRules& rules, const EgressRule& rule) {
  return rule.inspect || has_password(rules, rule);
}

// Whether the cell has an authority of its own, which it has to trust.
[[nodiscard]] inline bool has_inspection(const EgressRules& rules) {
  return std::ranges::any_of(rules.allow,
                             [&](const EgressRule& rule) { return is_inspected(rules, rule); });
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
void visit(Wire& wire, EgressGrant::Host& to) {
  auto& [host, port, scheme] = to;
  visit(wire, host);
  visit(wire, port);
  visit_enum(wire, scheme, EgressScheme::tcp);
}

template <class Wire>
void visit(Wire& wire, EgressGrant& grant) {
  auto& [credential, to, methods, paths, place, field, variable, shape, places, uses, expires] =
      grant;
  visit(wire, credential);
  visit_list(wire, to, [](Wire& out, EgressGrant::Host& host) { visit(out, host); });
  visit(wire, methods);
  visit(wire, paths);
  visit_enum(wire, place, GrantPlace::password);
  for (std::string* text : {&field, &variable, &shape})
    visit(wire, *text);
  visit(wire, places);
  visit(wire, uses);
  visit(wire, expires);
}

template <class Wire>
void visit(Wire& wire, EgressRules& rules) {
  auto& [allow, deny, requests, connections, upload, download, time, grants] = rules;
  visit_list(wire, allow, [](Wire& to, EgressRule& rule) { visit(to, rule); });
  visit(wire, deny);
  visit(wire, requests);
  visit(wire, connections);
  visit(wire, upload);
  visit(wire, download);
  visit(wire, time);
  visit_list(wire, grants, [](Wire& to, EgressGrant& grant) { visit(to, grant); });
}

template <class Wire>
void visit(Wire& wire, NetworkEvent& event) {
  auto& [kind, verdict, host, port, address, sent, received, rule, why, credential] = event;
  for (std::string* text : {&kind, &verdict, &host})
    visit_bytes(wire, *text);
  visit(wire, port);
  visit_bytes(wire, address);
  visit(wire, sent);
  visit(wire, received);
  visit_bytes(wire, rule);
  visit_bytes(wire, why);
  visit_bytes(wire, credential);
}

}  // namespace sallyport
