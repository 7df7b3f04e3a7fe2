#include <algorithm>
#include <optional>

#include "base/parse.h"
#include "egress/name_lookup.h"

namespace sallyport {
namespace {

constexpr std::size_t kMostServers = 3;  // as many as the C library asks
constexpr unsigned kMostSeconds = 5, kMostAttempts = 5;

// The next word of a line; empty at its end.
std::string_view next_word(std::string_view& line) {
  constexpr std::string_view kSpaces = " \t\r\v\f";
  line.remove_prefix(std::min(line.find_first_not_of(kSpaces), line.size()));
  const std::string_view word = line.substr(0, line.find_first_of(kSpaces));
  line.remove_prefix(word.size());
  return word;
}

// The number of an option like "timeout:3", within its bounds.
std::optional<unsigned> option(std::string_view word, std::string_view name, unsigned most) {
  if (!word.starts_with(name)) return std::nullopt;
  const auto number = whole_number<unsigned>(word.substr(name.size()));
  if (!number) return std::nullopt;
  return std::clamp(*number, 1U, most);
}

void read_options(std::string_view line, LookupSettings& settings) {
  for (auto word = next_word(line); !word.empty(); word = next_word(line)) {
    if (const auto seconds = option(word, "timeout:", kMostSeconds))
      settings.timeout = std::chrono::seconds(*seconds);
    if (const auto attempts = option(word, "attempts:", kMostAttempts))
      settings.attempts = *attempts;
  }
}

void read_resolv_conf(std::string_view text, LookupSettings& settings) {
  std::vector<NameServer> servers;
  servers.reserve(kMostServers);
  while (!text.empty()) {
    std::string_view line = take(text, '\n');
    line = line.substr(0, line.find_first_of("#;"));
    const std::string_view keyword = next_word(line);
    if (keyword == "options") read_options(line, settings);
    if (keyword != "nameserver" || servers.size() == kMostServers) continue;
    // An address with a zone (fe80::1%eth0) is none here: it needs an interface that may change.
    if (const auto address = IpAddress::parse(next_word(line)))
      servers.push_back({.address = *address});
  }
  if (!servers.empty()) settings.servers = std::move(servers);
}

void read_hosts(std::string_view text, LookupSettings& settings) {
  while (!text.empty()) {
    std::string_view line = take(text, '\n');
    line = line.substr(0, line.find('#'));
    const auto address = IpAddress::parse(next_word(line));
    if (!address) continue;
    for (auto word = next_word(line); !word.empty(); word = next_word(line)) {
      auto name = HostName::parse(word);
      if (!name) continue;
      auto& addresses = settings.hosts[std::move(*name)];
      if (std::ranges::find(addresses, *address) != addresses.end()) continue;
      const auto first_v6 = std::ranges::find(addresses, false, &IpAddress::is_v4);
      addresses.insert(address->is_v4() ? first_v6 : addresses.end(), *address);
    }
  }
}

}  // namespace

LookupSettings read_lookup_settings(std::string_view resolv_conf, std::string_view hosts) {
  LookupSettings settings;
  read_resolv_conf(resolv_conf, settings);
  read_hosts(hosts, settings);
  return settings;
}

}  // namespace sallyport
