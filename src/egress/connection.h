// What happens on one connection of a cell, by the scheme that its rule speaks.
#pragma once

#include <memory>
#include <optional>

#include "egress/served_cell.h"

namespace sallyport {

// Where the cell believes that it is connected to.
struct Meeting {
  std::uint16_t port = 0;
  EgressScheme scheme = EgressScheme::tcp;
  std::optional<HostName> name;  // known already, by the address or from a proxy's client
  std::uint32_t address = 0;     // of a point; 0: it came through the proxy

  // Whether a connection that came here may be for `other`.
  [[nodiscard]] bool fits(const NetworkMap& map, const HostName& other) const {
    return address == 0 ? name == other : map.address_of(other) == address;
  }
};

// Until both sides have ended. Everything that it finds is noted.
Task<void> serve_connection(ServedCell& cell, BufferedLink& client, Meeting meeting);

// Programs that look for a proxy: CONNECT, absolute URLs, and SOCKS 5 with names.
Task<void> serve_proxy(ServedCell& cell, BufferedLink& client);

// Requests of HTTP/1.1, each judged by itself. Through the proxy each names its own host.
Task<void> serve_http(ServedCell& cell, BufferedLink& client, const Meeting* meeting);

// PostgreSQL with a host that a credential is for: both sides log in here, the cell with a
// placeholder or with nothing, and we with the password.
Task<void> serve_postgres(ServedCell& cell, BufferedLink& client, HostName name, std::uint16_t port,
                          NetworkEvent event);

// Both ways, until both have ended. Counts into `event`. `veil`: over what the host says; null:
// none.
Task<void> tunnel(ServedCell& cell, BufferedLink& client, BufferedLink& host, NetworkEvent& event,
                  const Veil* veil = nullptr);

// The last words to the cell. What it goes on sending is read for a moment and dropped: a client
// that still writes when its connection is closed gets a reset in place of them.
Task<void> part(ServedCell& cell, BufferedLink& client, std::string_view last_words);

// "access denied", as a TLS client understands it.
inline constexpr std::string_view kTlsRefusal("\x15\x03\x03\x00\x02\x02\x31", 7);

// "api.example.com:443 over https, …": what would be allowed.
[[nodiscard]] std::string allowed_hosts_text(const NetworkMap& map);

}  // namespace sallyport
