#include "input/postgres_address.h"

#include <arpa/inet.h>

#include <algorithm>

#include "base/parse.h"
#include "base/text.h"

namespace sallyport {
namespace {

constexpr std::string_view kSchemes[] = {"postgres://", "postgresql://"};
constexpr std::string_view kSocketDirectory = "/var/run/postgresql";
constexpr std::string_view kSystemCertificates = "/etc/ssl/certs/ca-certificates.crt";
constexpr const char* kHint =
    "write postgres://HOST[:PORT]/DATABASE, or postgres:///DATABASE?host=/DIRECTORY for the socket "
    "of this machine";

std::unexpected<Error> refuse(const std::string& what, std::string hint = kHint) {
  return fail(Reason::argument, what, std::move(hint));
}

bool is_word(std::string_view text, std::size_t longest) {
  return !text.empty() && text.size() <= longest && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  });
}

bool is_address(const std::string& text) {
  in6_addr address{};
  return ::inet_pton(AF_INET, text.c_str(), &address) == 1 ||
         ::inet_pton(AF_INET6, text.c_str(), &address) == 1;
}

bool is_loopback(std::string_view host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

Result<void> read_port(std::string_view text, PostgresAddress& address) {
  const auto port = whole_number<std::uint16_t>(text);
  if (!port || *port == 0) return refuse(quoted(text) + " is no port");
  address.port = *port;
  return {};
}

bool is_path(std::string_view text) {
  return text.starts_with('/') && text.size() > 1 && text.size() < 90 &&
         !irregular_component(text) && escape_for_terminal(text) == text;
}

Result<void> read_option(std::string_view option, PostgresAddress& address, bool& plain) {
  const std::string_view name = take(option, '=');
  const std::string_view value = option;
  if (name == "host" && address.host.empty() && is_path(value)) {
    address.host = value;
  } else if (name == "hostaddr" && !address.host.empty() && is_address(std::string(value))) {
    address.addresses = {std::string(value)};
  } else if (name == "port") {
    return read_port(value, address);
  } else if (name == "sslrootcert" && is_path(value)) {
    address.certificates = value;
  } else if (name == "sslmode" && (value == "verify-full" || value == "disable")) {
    address.tls = value == "verify-full";
    plain = value == "disable";
  } else {
    return refuse(
        "the option " + quoted(name) + " with the value " + quoted(value) + " is not understood",
        "there are host=/DIRECTORY or hostaddr=ADDRESS, port=PORT, sslmode=verify-full or "
        "disable, and sslrootcert=/FILE");
  }
  return {};
}

Result<void> read_host(std::string_view text, PostgresAddress& address) {
  if (text.starts_with('[')) {  // IPv6
    text.remove_prefix(1);
    if (!text.contains(']')) return refuse("the host is not understood");
    address.host = take(text, ']');
    if (!text.empty() && !text.starts_with(':')) return refuse("the host is not understood");
  } else {
    address.host = take(text, ':');
    if (!text.empty()) return read_port(text, address);
    return {};
  }
  return text.empty() ? Result<void>() : read_port(text.substr(1), address);
}

bool is_host(std::string_view host) {
  return is_word(host, 253) || (!host.empty() && host.size() < 46 &&
                                host.find_first_not_of("0123456789abcdefABCDEF:.") == host.npos);
}

}  // namespace

Result<PostgresAddress> PostgresAddress::parse(std::string_view text) {
  const auto* scheme =
      std::ranges::find_if(kSchemes, [&](std::string_view each) { return text.starts_with(each); });
  if (scheme == std::end(kSchemes)) return refuse(quoted(text) + " is no PostgreSQL database");
  text.remove_prefix(scheme->size());
  PostgresAddress address;
  std::string_view options = text;
  std::string_view place = take(options, '?');
  if (const std::size_t at = place.find('@'); at != std::string_view::npos) {
    address.user = take(place, '@');
    if (address.user.contains(':'))
      return refuse("the database is given with a password in it",
                    "leave it out: `sallyport sql prepare` makes the roles and their passwords");
    if (!is_word(address.user, 63)) return refuse(quoted(address.user) + " is no name of a role");
  }
  const std::size_t slash = place.find('/');
  if (slash == std::string_view::npos) return refuse("the address names no database");
  address.database = place.substr(slash + 1);
  if (!is_word(address.database, 63))
    return refuse(quoted(address.database) + " is no name of a database");
  if (auto read = read_host(place.substr(0, slash), address); !read)
    return std::unexpected(std::move(read.error()));
  if (!address.host.empty() && !is_host(address.host))
    return refuse(quoted(address.host) + " is no name of a machine");
  bool plain = false;
  while (!options.empty())
    if (auto read = read_option(take(options, '&'), address, plain); !read)
      return std::unexpected(std::move(read.error()));
  if (address.host.empty()) address.host = kSocketDirectory;
  if (address.addresses.empty() && !address.is_socket()) {
    if (address.host == "localhost")
      address.addresses = {"127.0.0.1", "::1"};
    else if (is_address(address.host))
      address.addresses = {address.host};
    else
      return refuse("the address of the host " + quoted(address.host) + " is missing",
                    "names other than localhost are not looked up: add ?hostaddr=ADDRESS, and "
                    "keep the name, which the server's certificate is for");
  }
  const bool near = address.is_socket() || is_loopback(address.host);
  if (address.is_socket() && address.tls)
    return refuse("a socket of this machine has no TLS", "leave sslmode out");
  address.tls = address.tls || (!near && !plain);
  if (address.tls && address.certificates.empty()) address.certificates = kSystemCertificates;
  return address;
}

}  // namespace sallyport
