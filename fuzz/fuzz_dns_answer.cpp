// Any datagram that pretends to come from a name server is read or refused; what is read are
// addresses of the kind that was asked for, each once, and no more of them than it has room for.
#include <algorithm>
#include <cstdint>
#include <string_view>

#include "check.h"
#include "egress/dns_message.h"

using namespace sallyport;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const HostName name = *HostName::parse("a.example");
  constexpr std::uint16_t kId = 0x6161;
  const std::string_view message(reinterpret_cast<const char*>(data), size);
  for (const DnsType type : {DnsType::a, DnsType::aaaa}) {
    FUZZ_CHECK(!parse_dns_answer(make_dns_query(kId, name, type), kId, name, type));
    const auto answer = parse_dns_answer(message, kId, name, type);
    if (!answer) continue;
    FUZZ_CHECK(answer->rcode < 16);
    FUZZ_CHECK(!parse_dns_answer(message, kId + 1, name, type));
    const auto& addresses = answer->addresses;
    FUZZ_CHECK(addresses.size() * 16 < size);
    FUZZ_CHECK(addresses.empty() || (!answer->truncated && answer->rcode == DnsAnswer::kNoError));
    for (auto at = addresses.begin(); at != addresses.end(); ++at) {
      FUZZ_CHECK(at->is_v4() == (type == DnsType::a));
      FUZZ_CHECK(std::find(addresses.begin(), at, *at) == at);
    }
  }
  return 0;
}
