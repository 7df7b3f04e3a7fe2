// The network of one cell as its rules make it: which names it has, at which addresses of its own
// loopback, and which ports are served there.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "egress/rules.h"
#include "input/host.h"
#include "input/ip_address.h"

namespace sallyport {

// 198.18.0.0/24: set aside for measurements (RFC 2544), never the address of anything real.
inline constexpr std::uint32_t kEgressNetwork = 0xC612'0000;
// Where the proxy listens for programs that look for one.
inline constexpr std::uint32_t kProxyAddress = kEgressNetwork + 1;
inline constexpr std::uint16_t kProxyPort = 3128;

// How many sockets one cell may have served from outside; all of them travel in one message.
inline constexpr std::size_t kMostPoints = 200;

// One place in the cell's network where the egress process listens.
struct EgressPoint {
  std::uint32_t address = 0;
  std::uint16_t port = 0;
  std::size_t group = 0;  // of names; of no meaning at the proxy's
  bool operator==(const EgressPoint&) const = default;
};

class NetworkMap {
 public:
  // An error says which rule cannot be held.
  [[nodiscard]] static Result<NetworkMap> make(EgressRules rules);

  [[nodiscard]] const EgressRules& rules() const { return rules_; }

  // The proxy's first, then those of the names. Both the cell that makes the sockets and the
  // process that serves them go by this order.
  [[nodiscard]] std::span<const EgressPoint> points() const { return points_; }

  // The address that stands for a name in the cell; nothing: no rule allows it.
  [[nodiscard]] std::optional<std::uint32_t> address_of(const HostName& name) const;

  // The one name that a connection to the point must mean; nothing below "*.name".
  [[nodiscard]] std::optional<HostName> name_at(const EgressPoint& point) const;

  // What is spoken at the port for names of a group.
  [[nodiscard]] EgressScheme scheme_at(const EgressPoint& point) const;

  // The rules that allow a name at a port, in their order; none of them if `deny` has it.
  [[nodiscard]] std::vector<const EgressRule*> rules_for(const HostName& name,
                                                         std::uint16_t port) const;

  // The hosts whose TLS ends in the egress process.
  [[nodiscard]] std::vector<HostPattern> inspected() const;

  // Whether `deny` has the name.
  [[nodiscard]] bool is_denied(const HostName& name) const;

 private:
  struct Group {
    HostPattern pattern;
    std::uint32_t address;
  };

  EgressRules rules_;
  std::vector<HostPattern> allow_;  // of the rules, in their order
  std::vector<HostPattern> deny_;
  std::vector<Group> groups_;
  std::vector<EgressPoint> points_;
};

}  // namespace sallyport
