// A URL that leaves no room for two readings: the checker and whoever dials see the same host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "input/host.h"
#include "input/ip_address.h"
#include "sallyport/error.h"

namespace sallyport {

struct UrlRules {
  std::vector<std::string> schemes = {"https", "http"};  // lower case
  std::vector<HostPattern> hosts;                        // empty: any name
  bool allow_ip = false;        // an address instead of a name, where `hosts` is empty
  bool allow_internal = false;  // localhost, and with allow_ip the addresses of is_internal()
  std::size_t max_length = 2048;
};

class Url {
 public:
  // Refuses userinfo, fragments, backslashes, everything but the visible ASCII of RFC 3986, broken
  // percent-encoding, and a path with "." or ".." in it however often it is encoded.
  [[nodiscard]] static Result<Url> parse(std::string_view text, const UrlRules& rules = {});

  [[nodiscard]] const std::string& scheme() const { return scheme_; }
  [[nodiscard]] const std::variant<HostName, IpAddress>& host() const { return host_; }
  [[nodiscard]] std::uint16_t port() const { return port_; }       // 0: the scheme has no default
  [[nodiscard]] const std::string& path() const { return path_; }  // begins with '/'
  [[nodiscard]] const std::optional<std::string>& query() const { return query_; }

  // The host as it stands in a URL: an IPv6 address in brackets.
  [[nodiscard]] std::string host_text() const;

  // The normalised URL: scheme and host in lower case, no default port, a path, percent-encoding in
  // one spelling. This is what is used from here on, not the text that came in.
  [[nodiscard]] std::string to_text() const;

 private:
  explicit Url(std::variant<HostName, IpAddress> host) : host_(std::move(host)) {}
  std::string scheme_;
  std::variant<HostName, IpAddress> host_;
  std::uint16_t port_ = 0;
  std::string path_;
  std::optional<std::string> query_;
};

}  // namespace sallyport
