#include "door/cli/net_value.h"

#include <optional>

#include "base/parse.h"
#include "base/text.h"
#include "input/host.h"
#include "input/ip_address.h"

namespace sallyport {
namespace {

struct Scheme {
  std::string_view name;
  EgressScheme scheme;
  std::uint16_t port;  // 0: has to be written
};
constexpr Scheme kSchemes[] = {{"https", EgressScheme::https, 443},
                               {"http", EgressScheme::http, 80},
                               {"postgres", EgressScheme::postgres, 5432},
                               {"tcp", EgressScheme::tcp, 0}};

const Scheme* find_scheme(std::string_view word) {
  const auto found = std::ranges::find(kSchemes, word, &Scheme::name);
  return found != std::end(kSchemes) ? found : nullptr;
}

}  // namespace

Result<EgressRule> parse_net(std::string_view text) {
  std::string_view rest = text;
  const auto place = HostPort::parse(take(rest, ','));
  if (!place) return std::unexpected(place.error());
  const Scheme* scheme = place->port == 80 ? &kSchemes[1] : &kSchemes[0];
  EgressRule rule{.host = place->host.to_text(), .id = "--net " + std::string(text)};
  while (!rest.empty()) {
    std::string_view word = take(rest, ',');
    if (const Scheme* named = find_scheme(word)) {
      scheme = named;
    } else if (word == "internal") {
      rule.internal = true;
    } else if (word == "inspect") {
      rule.inspect = true;
    } else if (word.starts_with("address=")) {
      const auto address = IpAddress::parse(word.substr(word.find('=') + 1));
      if (!address) return std::unexpected(address.error());
      rule.address = address->to_text();
    } else {
      return fail(
          Reason::argument, quoted(word) + " is no word of --net",
          "write https, http, postgres, tcp, internal, inspect or address=IP behind the host");
    }
  }
  if (!place->port && scheme->port == 0)
    return fail(Reason::argument, "tcp has no port of its own", "write the port, as HOST:PORT,tcp");
  if (rule.inspect && scheme->scheme != EgressScheme::https)
    return fail(Reason::argument, "there is no TLS to look into in " + std::string(scheme->name),
                "leave `inspect` out, or write https");
  rule.scheme = scheme->scheme;
  rule.port = place->port.value_or(scheme->port);
  return rule;
}

}  // namespace sallyport
