// Who is at the other end: the address of a socket, and what a trusted proxy says about it.
#pragma once

#include <sys/socket.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/message.h"
#include "input/ip_address.h"

namespace sallyport {

// An IPv4 address that is written as an IPv6 one (::ffff:192.0.2.1) as itself: one client, one
// spelling.
[[nodiscard]] IpAddress unmapped(const IpAddress& address);

// The address of an internet socket; nothing for a unix one.
[[nodiscard]] std::optional<IpAddress> address_of(const sockaddr_storage& address);

// The proxies whose X-Forwarded-For is believed.
class TrustedProxies {
 public:
  // Addresses, or ranges like 10.0.0.0/8.
  [[nodiscard]] static Result<TrustedProxies> create(const std::vector<std::string>& entries);

  // The client behind `peer`: `peer` itself unless it is trusted, else the rightmost entry that is
  // not. Everything to the left of that was written by the client and may be a lie. An entry that
  // is no address ends the search at the proxy that passed it on.
  [[nodiscard]] IpAddress client(const IpAddress& peer, const HttpHeaders& headers) const;

 private:
  struct Range {
    IpAddress first;
    unsigned bits;
  };
  [[nodiscard]] bool trusts(const IpAddress& address) const;
  std::vector<Range> ranges_;
};

}  // namespace sallyport
