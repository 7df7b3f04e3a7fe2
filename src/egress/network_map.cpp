#include "egress/network_map.h"

#include <algorithm>

#include "base/text.h"

namespace sallyport {
namespace {

constexpr std::uint32_t kFirstNamed = kEgressNetwork + 2, kLastNamed = kEgressNetwork + 254;

// Whether all names of `inner` are names of `outer`.
bool covers(const HostPattern& outer, const HostPattern& inner) {
  if (outer == inner) return true;
  if (!outer.covers_subdomains()) return false;
  return outer.matches(inner.base());
}

}  // namespace

std::string_view name_of(EgressScheme scheme) {
  constexpr std::string_view kNames[] = {"https", "http", "postgres", "tcp"};
  return kNames[static_cast<std::size_t>(scheme)];
}

Result<NetworkMap> NetworkMap::make(EgressRules rules) {
  NetworkMap map;
  map.allow_.reserve(rules.allow.size());
  for (const EgressRule& rule : rules.allow) {
    auto pattern = HostPattern::parse(rule.host);
    if (!pattern) return std::unexpected(std::move(pattern.error()));
    const bool named_by_address =
        rule.scheme == EgressScheme::tcp || rule.scheme == EgressScheme::postgres;
    if (named_by_address && pattern->covers_subdomains())
      return fail(Reason::argument,
                  "the names below " + quoted(rule.host) + " cannot be told apart in " +
                      std::string(name_of(rule.scheme)),
                  "write each host by its name");
    if (rule.inspect && rule.scheme != EgressScheme::https)
      return fail(Reason::argument,
                  "there is no TLS to look into in " + std::string(name_of(rule.scheme)),
                  "leave `inspect` out, or write it for https");
    map.allow_.push_back(std::move(*pattern));
  }
  map.deny_.reserve(rules.deny.size());
  for (const std::string& host : rules.deny) {
    auto pattern = HostPattern::parse(host);
    if (!pattern) return std::unexpected(std::move(pattern.error()));
    map.deny_.push_back(std::move(*pattern));
  }

  map.points_.push_back({.address = kProxyAddress, .port = kProxyPort, .group = 0});
  for (const HostPattern& pattern : map.allow_) {
    if (std::ranges::find(map.groups_, pattern, &Group::pattern) != map.groups_.end()) continue;
    const auto address = static_cast<std::uint32_t>(kFirstNamed + map.groups_.size());
    if (address > kLastNamed)
      return fail(Reason::argument, "there are too many hosts for one tool",
                  "write *.name for the names below one");
    const std::size_t group = map.groups_.size();
    map.groups_.push_back({pattern, address});
    for (std::size_t i = 0; i < rules.allow.size(); ++i) {
      if (!covers(map.allow_[i], pattern)) continue;
      const EgressRule& rule = rules.allow[i];
      const auto same_port = [&](const EgressPoint& point) {
        return point.address == address && point.port == rule.port;
      };
      if (std::ranges::find_if(map.points_, same_port) == map.points_.end())
        map.points_.push_back({.address = address, .port = rule.port, .group = group});
    }
    for (std::size_t i = 0; i < rules.allow.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (covers(map.allow_[i], pattern) && covers(map.allow_[j], pattern) &&
            rules.allow[i].port == rules.allow[j].port &&
            rules.allow[i].scheme != rules.allow[j].scheme)
          return fail(Reason::argument,
                      quoted(pattern.to_text()) + " has two schemes at port " +
                          std::to_string(rules.allow[i].port),
                      "write one of them");
  }
  if (map.points_.size() > kMostPoints)
    return fail(Reason::argument,
                "the rules have more than " + std::to_string(kMostPoints - 1) + " hosts and ports");
  map.rules_ = std::move(rules);
  return map;
}

bool NetworkMap::is_denied(const HostName& name) const {
  return std::ranges::any_of(deny_, [&](const HostPattern& host) { return host.matches(name); });
}

std::optional<std::uint32_t> NetworkMap::address_of(const HostName& name) const {
  if (is_denied(name)) return std::nullopt;
  const Group* best = nullptr;
  for (const Group& group : groups_) {
    if (!group.pattern.matches(name)) continue;
    // The name itself before those below one, and a longer one of these before a shorter.
    const auto rank = [](const Group& one) {
      return std::pair(!one.pattern.covers_subdomains(), one.pattern.base().to_text().size());
    };
    if (best == nullptr || rank(group) > rank(*best)) best = &group;
  }
  return best != nullptr ? std::optional(best->address) : std::nullopt;
}

std::optional<HostName> NetworkMap::name_at(const EgressPoint& point) const {
  const HostPattern& pattern = groups_[point.group].pattern;
  if (pattern.covers_subdomains()) return std::nullopt;
  return pattern.base();
}

EgressScheme NetworkMap::scheme_at(const EgressPoint& point) const {
  const HostPattern& pattern = groups_[point.group].pattern;
  for (std::size_t i = 0; i < allow_.size(); ++i)
    if (rules_.allow[i].port == point.port && covers(allow_[i], pattern))
      return rules_.allow[i].scheme;
  return EgressScheme::tcp;
}

std::vector<HostPattern> NetworkMap::inspected() const {
  std::vector<HostPattern> found;
  for (std::size_t i = 0; i < allow_.size(); ++i)
    if (is_inspected(rules_, rules_.allow[i])) found.push_back(allow_[i]);
  return found;
}

std::vector<const EgressRule*> NetworkMap::rules_for(const HostName& name,
                                                     std::uint16_t port) const {
  std::vector<const EgressRule*> found;
  if (is_denied(name)) return found;
  for (std::size_t i = 0; i < allow_.size(); ++i)
    if (rules_.allow[i].port == port && allow_[i].matches(name)) found.push_back(&rules_.allow[i]);
  return found;
}

}  // namespace sallyport
