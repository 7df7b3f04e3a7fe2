#include "http/peer.h"

#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <ranges>

#include "base/parse.h"
#include "base/text.h"
#include "http/characters.h"

namespace sallyport {

IpAddress unmapped(const IpAddress& address) {
  if (address.is_v4()) return address;
  const auto& bytes = address.bytes();
  const bool mapped =
      std::all_of(bytes.begin(), bytes.begin() + 10, [](std::uint8_t byte) { return byte == 0; }) &&
      bytes[10] == 0xFF && bytes[11] == 0xFF;
  return mapped ? IpAddress::v4({bytes[12], bytes[13], bytes[14], bytes[15]}) : address;
}

std::optional<IpAddress> address_of(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &address, sizeof v4);
    std::array<std::uint8_t, 4> bytes{};
    std::memcpy(bytes.data(), &v4.sin_addr, bytes.size());
    return IpAddress::v4(bytes);
  }
  if (address.ss_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, &address, sizeof v6);
    std::array<std::uint8_t, 16> bytes{};
    std::memcpy(bytes.data(), &v6.sin6_addr, bytes.size());
    return unmapped(IpAddress::v6(bytes));
  }
  return std::nullopt;
}

Result<TrustedProxies> TrustedProxies::create(const std::vector<std::string>& entries) {
  TrustedProxies proxies;
  for (const std::string& entry : entries) {
    const std::size_t slash = entry.find('/');
    const auto address = IpAddress::parse(std::string_view(entry).substr(0, slash));
    if (!address) return std::unexpected(address.error());
    const unsigned most = address->is_v4() ? 32 : 128;
    const auto bits = slash == std::string::npos
                          ? most
                          : whole_number<unsigned>(std::string_view(entry).substr(slash + 1));
    if (!bits || *bits > most)
      return fail(Reason::argument, "The range " + quoted(entry) + " has no such length.",
                  "Write an address, or a range like 10.0.0.0/8.");
    proxies.ranges_.push_back({.first = *address, .bits = *bits});
  }
  return proxies;
}

bool TrustedProxies::trusts(const IpAddress& address) const {
  return std::ranges::any_of(ranges_, [&](const Range& range) {
    if (range.first.is_v4() != address.is_v4()) return false;
    unsigned bits = range.bits;
    for (std::size_t i = 0; bits > 0; ++i) {
      const unsigned here = std::min(bits, 8u);
      if (((range.first.bytes()[i] ^ address.bytes()[i]) >> (8 - here)) != 0) return false;
      bits -= here;
    }
    return true;
  });
}

IpAddress TrustedProxies::client(const IpAddress& peer, const HttpHeaders& headers) const {
  IpAddress client = peer;
  if (!trusts(client)) return client;
  // Several such headers are one list, in their order.
  for (const auto& [name, value] : headers | std::views::reverse) {
    if (name != "x-forwarded-for") continue;
    for (std::string_view rest = value;;) {
      const std::size_t comma = rest.rfind(',');
      const std::string_view entry =
          without_spaces(comma == std::string_view::npos ? rest : rest.substr(comma + 1));
      const auto address = IpAddress::parse(entry);
      if (!address) return client;
      client = unmapped(*address);
      if (!trusts(client) || comma == std::string_view::npos) break;
      rest = rest.substr(0, comma);
    }
    if (!trusts(client)) break;
  }
  return client;
}

}  // namespace sallyport
