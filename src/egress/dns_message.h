// The two messages of DNS that a lookup is made of: the question for the addresses of a name, and
// its answer, read strictly. Whoever is on the way to a name server can write an answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "input/host.h"
#include "input/ip_address.h"

namespace sallyport {

enum class DnsType : std::uint16_t { a = 1, aaaa = 28 };

// What a datagram may hold, by our own words: more would be fragmented on its way.
inline constexpr std::size_t kLongestDnsDatagram = 1232;

[[nodiscard]] std::string make_dns_query(std::uint16_t id, const HostName& name, DnsType type);

struct DnsAnswer {
  static constexpr unsigned kNoError = 0, kNoSuchName = 3;

  unsigned rcode = kNoError;
  bool truncated = false;            // nothing else was read then: ask again over TCP
  std::vector<IpAddress> addresses;  // each once; of the name that the aliases lead to
  std::uint32_t ttl = 0;             // seconds: of the shortest-lived record that led to them
};

// The answer to the query that `id`, `name` and `type` made. Other messages, malformed ones, and
// aliases that lead in a circle are errors.
[[nodiscard]] Result<DnsAnswer> parse_dns_answer(std::string_view message, std::uint16_t id,
                                                 const HostName& name, DnsType type);

}  // namespace sallyport
