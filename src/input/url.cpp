#include "input/url.h"

#include <algorithm>
#include <span>

#include "base/text.h"
#include "input/string_value.h"

namespace sallyport {
namespace {

using Host = std::variant<HostName, IpAddress>;

struct SchemePort {
  std::string_view scheme;
  std::uint16_t port;
};
constexpr SchemePort kDefaultPorts[] = {
    {"https", 443}, {"http", 80}, {"wss", 443}, {"ws", 80}, {"ftp", 21}};

std::uint16_t default_port(std::string_view scheme) {
  const auto* row = std::ranges::find(kDefaultPorts, scheme, &SchemePort::scheme);
  return row == std::end(kDefaultPorts) ? 0 : row->port;
}

std::unexpected<Error> refused(std::string_view text, std::string_view fault, std::string hint) {
  return fail(Reason::argument, "the URL " + quoted(text) + " " + std::string(fault),
              std::move(hint));
}

constexpr bool is_unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// The byte of a percent-encoding at the start of `text`, or -1.
int encoded_byte(std::string_view text) {
  if (text.size() < 3 || text[0] != '%' || hex_value(text[1]) < 0 || hex_value(text[2]) < 0)
    return -1;
  return hex_value(text[1]) * 16 + hex_value(text[2]);
}

std::string decoded_once(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const int byte = encoded_byte(text);
    result.push_back(byte < 0 ? text[0] : static_cast<char>(byte));
    text.remove_prefix(byte < 0 ? 1 : 3);
  }
  return result;
}

// Whether a server might see "." or ".." in the path: one that decodes twice (%252e), takes an
// encoded slash or a backslash for a separator, or cuts off parameters (..;x).
bool has_dot_segment(std::string path) {
  // Each round that changes the path shortens it by at least two bytes. More rounds than a server
  // could ever make are not needed, and would cost quadratic time.
  for (int round = 0; round < 8; ++round) {
    std::string decoded = decoded_once(path);
    if (decoded == path) break;
    path = std::move(decoded);
  }
  std::ranges::replace(path, '\\', '/');
  for (std::size_t start = 0; start <= path.size();) {
    const std::size_t end = std::min(path.find('/', start), path.size());
    const std::string_view segment = std::string_view(path).substr(start, end - start);
    const std::string_view name = segment.substr(0, segment.find(';'));
    if (name == "." || name == "..") return true;
    start = end + 1;
  }
  return false;
}

// Encodings in one spelling: hexadecimal in upper case, and none where it is not needed.
std::string normalised(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const int byte = encoded_byte(text);
    if (byte < 0) {
      result.push_back(text[0]);
    } else if (byte < 0x80 && is_unreserved(static_cast<char>(byte))) {
      result.push_back(static_cast<char>(byte));
    } else {
      result.push_back('%');
      result.push_back("0123456789ABCDEF"[byte >> 4]);
      result.push_back("0123456789ABCDEF"[byte & 0xF]);
    }
    text.remove_prefix(byte < 0 ? 1 : 3);
  }
  return result;
}

// Path or query, in the characters of RFC 3986.
Result<std::string> parse_part(std::string_view url, std::string_view part, bool is_query) {
  const std::string_view extra = is_query ? "/?:@!$&'()*+,;=" : "/:@!$&'()*+,;=";
  for (std::size_t i = 0; i < part.size(); ++i) {
    const char c = part[i];
    if (c != '%') {
      if (is_unreserved(c) || extra.contains(c)) continue;
      return refused(url,
                     "holds the character " + quoted(part.substr(i, 1)) + " in its " +
                         (is_query ? "query" : "path"),
                     "percent-encode it");
    }
    const int byte = encoded_byte(part.substr(i));
    if (byte < 0)
      return refused(url, "holds a '%' that is not followed by two hexadecimal digits",
                     "write a percent sign as %25");
    // In a query, an encoded line break may be text; in a path, it is an attack on a log or a
    // header.
    if (byte == 0 || (!is_query && (byte < 0x20 || byte == 0x7F)))
      return refused(url, "holds an encoded control character", "leave it away");
  }
  return normalised(part);
}

Result<Host> parse_host(std::string_view url, std::string_view text, const UrlRules& rules) {
  const bool bracketed = text.starts_with('[');
  if (bracketed && !text.ends_with(']'))
    return refused(url, "has a '[' without its ']'", "write an IPv6 address as [2001:db8::1]");
  const std::string_view literal = bracketed ? text.substr(1, text.size() - 2) : text;
  const Result<IpAddress> address = IpAddress::parse(literal);
  if (bracketed && (!address || address->is_v4()))
    return refused(url, "has something other than an IPv6 address in brackets",
                   "write an IPv6 address as [2001:db8::1]");
  if (address && (bracketed || address->is_v4())) {
    if (!rules.allow_ip || !rules.hosts.empty())
      return refused(url, "names an IP address", "use the name of the host");
    if (const auto range = internal_range(*address); range && !rules.allow_internal)
      return refused(url, "leads to an internal address (" + std::string(*range) + ")",
                     "only addresses of the open internet are allowed");
    return *address;
  }
  Result<HostName> name = HostName::parse(text);
  if (!name) return refused(url, "has no proper host: " + name.error().message, name.error().hint);
  if (rules.hosts.empty()) {
    if (name->is_localhost() && !rules.allow_internal)
      return refused(url, "leads to this machine", "only hosts of the open internet are allowed");
    return std::move(*name);
  }
  if (std::ranges::any_of(rules.hosts, [&](const HostPattern& p) { return p.matches(*name); }))
    return std::move(*name);
  std::string allowed;
  for (const HostPattern& pattern :
       std::span(rules.hosts).first(std::min<std::size_t>(rules.hosts.size(), 10)))
    allowed.append(allowed.empty() ? "" : ", ").append(pattern.to_text());
  return refused(url, "leads to " + name->to_text() + ", which is not an allowed host",
                 "allowed: " + allowed + (rules.hosts.size() > 10 ? ", ..." : ""));
}

}  // namespace

Result<Url> Url::parse(std::string_view text, const UrlRules& rules) {
  if (text.size() > rules.max_length)
    return fail(Reason::argument,
                "the URL of " + std::to_string(text.size()) + " bytes is too long",
                "at most " + std::to_string(rules.max_length) + " bytes are allowed");
  // Before anything is split: parsers differ most in what they do with these.
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || byte == 0x7F)
      return refused(text, "holds a space or control character", "percent-encode it");
    if (byte >= 0x80)
      return refused(text, "is not ASCII",
                     "percent-encode the path and write the host in its xn-- form");
    if (c == '\\') return refused(text, "holds a backslash", "write '/' or %5C");
    if (c == '#') return refused(text, "has a fragment", "leave the '#' and what follows it away");
  }

  const std::size_t colon = text.find(':');
  std::string scheme(text.substr(0, std::min(colon, text.size())));
  std::ranges::transform(scheme, scheme.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  std::string schemes;
  for (const std::string& allowed : rules.schemes)
    schemes.append(schemes.empty() ? "" : ", ").append(allowed).append("://");
  if (colon == std::string_view::npos ||
      std::ranges::find(rules.schemes, scheme) == rules.schemes.end())
    return refused(text, "does not begin with an allowed scheme", "allowed: " + schemes);
  std::string_view rest = text.substr(colon + 1);
  if (!rest.starts_with("//"))
    return refused(text, "lacks the \"//\" behind its scheme",
                   "write it like " + scheme + "://host/path");
  rest.remove_prefix(2);

  const std::size_t end = std::min(rest.find_first_of("/?"), rest.size());
  const std::string_view authority = rest.substr(0, end);
  rest.remove_prefix(end);
  if (authority.contains('@'))
    return refused(text, "has a user name before its host",
                   "leave the user name, the password and the '@' away");
  // The colon of a port stands behind the brackets of an IPv6 address.
  const std::size_t bracket = authority.rfind(']');
  const std::size_t port_colon =
      authority.find(':', bracket == std::string_view::npos ? 0 : bracket);
  Result<Host> host = parse_host(text, authority.substr(0, port_colon), rules);
  if (!host) return std::unexpected(std::move(host.error()));
  Url url(std::move(*host));
  url.port_ = default_port(scheme);
  if (port_colon != std::string_view::npos) {
    const Result<std::uint16_t> port = parse_port(authority.substr(port_colon + 1));
    if (!port)
      return refused(text, "has no proper port: " + port.error().message, port.error().hint);
    url.port_ = *port;
  }
  url.scheme_ = std::move(scheme);

  const std::size_t question = rest.find('?');
  Result<std::string> path = parse_part(text, rest.substr(0, question), false);
  if (!path) return std::unexpected(std::move(path.error()));
  if (has_dot_segment(*path))
    return refused(text, "has \".\" or \"..\" in its path", "write the path without them");
  url.path_ = path->empty() ? "/" : std::move(*path);
  if (question != std::string_view::npos) {
    Result<std::string> query = parse_part(text, rest.substr(question + 1), true);
    if (!query) return std::unexpected(std::move(query.error()));
    url.query_ = std::move(*query);
  }
  return url;
}

std::string Url::host_text() const {
  if (const auto* name = std::get_if<HostName>(&host_)) return name->to_text();
  const IpAddress& address = std::get<IpAddress>(host_);
  return address.is_v4() ? address.to_text() : "[" + address.to_text() + "]";
}

std::string Url::to_text() const {
  std::string text = scheme_ + "://" + host_text();
  if (port_ != default_port(scheme_)) text.append(":" + std::to_string(port_));
  text.append(path_);
  if (query_) text.append("?").append(*query_);
  return text;
}

}  // namespace sallyport
