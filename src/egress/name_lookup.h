// The addresses of a name, asked for as a program can that is linked statically, and that may not
// read files any more when it asks: without getaddrinfo and its plug-ins.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "input/host.h"
#include "input/ip_address.h"

namespace sallyport {

struct NameServer {
  IpAddress address = IpAddress::v4({127, 0, 0, 1});
  std::uint16_t port = 53;

  bool operator==(const NameServer&) const = default;
};

struct LookupSettings {
  std::vector<NameServer> servers{NameServer{}};  // asked in this order
  std::chrono::milliseconds timeout{2000};        // of one question to one server
  unsigned attempts = 2;                          // rounds over all servers
  std::map<HostName, std::vector<IpAddress>> hosts;
};

// From the texts of /etc/resolv.conf and /etc/hosts. Lines that cannot be used are passed over, as
// every other reader of these files does. Search domains are, too: a name in a policy is a whole
// one.
[[nodiscard]] LookupSettings read_lookup_settings(std::string_view resolv_conf,
                                                  std::string_view hosts);

// No lookup takes longer, whatever its settings say.
inline constexpr std::chrono::milliseconds kLongestLookup{10'000};

// All addresses of a name, IPv4 before IPv6, each once, at least one: of the hosts table, or else
// of the first server that knows. `settings` must outlive the lookup. Throws nothing; that a name
// does not exist, that it has no address, and that nobody could be asked are different sentences.
// For an io_context that one thread runs.
[[nodiscard]] boost::asio::awaitable<Result<std::vector<IpAddress>>> look_up(
    HostName name, const LookupSettings& settings);

}  // namespace sallyport
