// Which Host and Origin a request may name.
//
// A page of an attacker can have its own name resolve to 127.0.0.1 (DNS rebinding); the browser
// then takes this server for the attacker's, and lets the page read its answers. The Host header
// gives that away: it still holds the attacker's name.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "input/host.h"
#include "input/ip_address.h"

namespace sallyport {

class AllowedHosts {
 public:
  enum class Verdict { allowed, malformed, foreign };

  // `names` are host names, "*.host" or addresses.
  [[nodiscard]] static Result<AllowedHosts> create(const std::vector<std::string>& names);

  // A Host header: one of the names, localhost, a loopback address, or `local`, with any port.
  [[nodiscard]] Verdict judge(std::string_view host, const std::optional<IpAddress>& local) const;

  // An Origin header, by its host. "null" and all but http and https are foreign.
  [[nodiscard]] bool allows_origin(std::string_view origin,
                                   const std::optional<IpAddress>& local) const;

 private:
  std::vector<HostPattern> names_;
  std::vector<IpAddress> addresses_;
};

}  // namespace sallyport
