#include "http/allowed_hosts.h"

#include <algorithm>

#include "http/peer.h"

namespace sallyport {
namespace {

bool is_loopback(const IpAddress& address) {
  if (address.is_v4()) return address.bytes()[0] == 127;
  static constexpr std::array<std::uint8_t, 16> kLoopback{0, 0, 0, 0, 0, 0, 0, 0,
                                                          0, 0, 0, 0, 0, 0, 0, 1};
  return address.bytes() == kLoopback;
}

}  // namespace

Result<AllowedHosts> AllowedHosts::create(const std::vector<std::string>& names) {
  AllowedHosts hosts;
  for (const std::string& name : names) {
    if (const auto address = IpAddress::parse(name)) {
      hosts.addresses_.push_back(unmapped(*address));
      continue;
    }
    auto pattern = HostPattern::parse(name);
    if (!pattern) return std::unexpected(pattern.error());
    hosts.names_.push_back(*std::move(pattern));
  }
  return hosts;
}

AllowedHosts::Verdict AllowedHosts::judge(std::string_view host,
                                          const std::optional<IpAddress>& local) const {
  const bool bracketed = host.starts_with('[');
  const std::size_t colon = host.find(':', bracketed ? std::min(host.find(']'), host.size()) : 0);
  if (colon != std::string_view::npos) {
    if (!parse_port(host.substr(colon + 1))) return Verdict::malformed;
    host = host.substr(0, colon);
  }
  if (bracketed) {
    if (!host.ends_with(']')) return Verdict::malformed;
    host = host.substr(1, host.size() - 2);
  }
  if (const auto parsed = IpAddress::parse(host)) {
    if (parsed->is_v4() == bracketed) return Verdict::malformed;
    const IpAddress address = unmapped(*parsed);
    const bool allowed = is_loopback(address) || address == local ||
                         std::ranges::find(addresses_, address) != addresses_.end();
    return allowed ? Verdict::allowed : Verdict::foreign;
  }
  const auto name = HostName::parse(host);
  if (bracketed || !name) return Verdict::malformed;
  const bool allowed = name->to_text() == "localhost" ||
                       std::ranges::any_of(names_, [&](const HostPattern& pattern) {
                         return pattern.matches(*name);
                       });
  return allowed ? Verdict::allowed : Verdict::foreign;
}

bool AllowedHosts::allows_origin(std::string_view origin,
                                 const std::optional<IpAddress>& local) const {
  for (const std::string_view scheme : {"http://", "https://"})
    if (origin.starts_with(scheme))
      return judge(origin.substr(scheme.size()), local) == Verdict::allowed;
  return false;
}

}  // namespace sallyport
