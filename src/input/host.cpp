#include "input/host.h"

#include <algorithm>

#include "base/parse.h"
#include "base/text.h"
#include "input/ip_address.h"

namespace sallyport {
namespace {

constexpr std::size_t kLongestName = 253;
constexpr std::size_t kLongestLabel = 63;

constexpr char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
constexpr bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f');
}

// A last label that inet_aton, and with it many a client, takes for a number: the whole name is
// then an address to them (2130706433, 0x7f.1, a.b.0x1).
bool is_number(std::string_view label) {
  if (std::ranges::all_of(label, is_digit)) return true;
  return label.starts_with("0x") && std::ranges::all_of(label.substr(2), is_hex);
}

// What is wrong with a label, or nothing.
std::string_view label_fault(std::string_view label) {
  if (label.empty()) return "has an empty label";
  if (label.size() > kLongestLabel) return "has a label of more than 63 characters";
  if (label.front() == '-' || label.back() == '-') return "has a label with a hyphen at its edge";
  if (label.size() >= 4 && label.substr(2, 2) == "--" &&
      (!label.starts_with("xn--") || label.size() == 4))
    return "has a label with \"--\" as its third and fourth character";
  return {};
}

std::unexpected<Error> not_a_host(std::string_view text, std::string_view fault,
                                  std::string hint =
                                      "write it like api.example.com: letters, "
                                      "digits and hyphens between dots") {
  return fail(Reason::argument, "the host name " + quoted(text) + " " + std::string(fault),
              std::move(hint));
}

}  // namespace

Result<HostName> HostName::parse(std::string_view text) {
  if (text.empty()) return not_a_host(text, "is empty");
  if (text.size() > kLongestName + 1) return not_a_host(text, "is longer than 253 characters");
  if (IpAddress::parse(text))
    return not_a_host(text, "is an IP address", "write the name of the host, not its address");

  std::string name(text);
  std::ranges::transform(name, name.begin(), lower);
  for (const char c : name) {
    if (static_cast<unsigned char>(c) >= 0x80)
      return not_a_host(text, "is not ASCII", "write an internationalised name in its xn-- form");
    const bool letter = c >= 'a' && c <= 'z';
    if (!letter && !is_digit(c) && c != '-' && c != '.')
      return not_a_host(text, "holds a character other than letters, digits, hyphens and dots");
  }
  if (name.ends_with('.'))
    return not_a_host(text, "ends with a dot", "leave the dot at the end away");
  if (name.size() > kLongestName) return not_a_host(text, "is longer than 253 characters");
  std::string_view last;
  for (std::size_t start = 0; start <= name.size();) {
    const std::size_t end = std::min(name.find('.', start), name.size());
    last = std::string_view(name).substr(start, end - start);
    if (const std::string_view fault = label_fault(last); !fault.empty())
      return not_a_host(text, fault);
    start = end + 1;
  }
  if (is_number(last))
    return not_a_host(text, "ends in a number, which makes it an odd form of an IP address",
                      "write the name of the host, not its address");
  return HostName(std::move(name));
}

bool HostName::is_localhost() const {
  return text_ == "localhost" || text_.ends_with(".localhost");
}

Result<HostPattern> HostPattern::parse(std::string_view text) {
  const bool subdomains = text.starts_with("*.");
  const std::string_view name = subdomains ? text.substr(2) : text;
  if (name.contains('*'))
    return fail(Reason::argument,
                "the host pattern " + quoted(text) + " has a '*' that is not a whole first label",
                "write a host (api.example.com) or all hosts below one (*.example.com)");
  Result<HostName> base = HostName::parse(name);
  if (!base) return std::unexpected(std::move(base.error()));
  // "*.com" is as good as everything. Two labels can still be a public suffix (*.co.uk): that is
  // for the author of a policy to know.
  if (subdomains && !base->to_text().contains('.'))
    return fail(Reason::argument,
                "the host pattern " + quoted(text) + " covers a whole top-level domain",
                "name at least two labels behind the '*.', as in *.example.com");
  return HostPattern(std::move(*base), subdomains);
}

bool HostPattern::matches(const HostName& host) const {
  const std::string_view name = host.to_text();
  const std::string_view base = base_.to_text();
  if (!subdomains_) return name == base;
  return name.size() > base.size() + 1 && name.ends_with(base) &&
         name[name.size() - base.size() - 1] == '.';
}

std::string HostPattern::to_text() const {
  return subdomains_ ? "*." + base_.to_text() : base_.to_text();
}

Result<std::uint16_t> parse_port(std::string_view text) {
  const auto port = whole_number<std::uint16_t>(text);
  if (!port || *port == 0 || text[0] == '0')
    return fail(Reason::argument, "the port " + quoted(text) + " is not a port number",
                "write a number from 1 to 65535 without leading zeros");
  return *port;
}

Result<HostPort> HostPort::parse(std::string_view text) {
  const std::size_t colon = text.find(':');
  Result<HostPattern> host = HostPattern::parse(text.substr(0, colon));
  if (!host) return std::unexpected(std::move(host.error()));
  if (colon == std::string_view::npos) return HostPort{std::move(*host), std::nullopt};
  const Result<std::uint16_t> port = parse_port(text.substr(colon + 1));
  if (!port) return std::unexpected(port.error());
  return HostPort{std::move(*host), *port};
}

std::string HostPort::to_text() const {
  return port ? host.to_text() + ":" + std::to_string(*port) : host.to_text();
}

}  // namespace sallyport
