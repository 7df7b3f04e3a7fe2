// Names of hosts, and the patterns and entries with which a policy allows them.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "sallyport/error.h"

namespace sallyport {

// A DNS name in the only form that is compared and dialled: ASCII letters, digits and hyphens,
// lower case, without a trailing dot, at most 253 bytes, and nothing that inet_aton would take for
// an address. An internationalised name is written in its xn-- form.
class HostName {
 public:
  [[nodiscard]] static Result<HostName> parse(std::string_view text);

  [[nodiscard]] const std::string& to_text() const { return text_; }

  // "localhost" or a name below it: this machine, whatever a resolver says (RFC 6761).
  [[nodiscard]] bool is_localhost() const;

  auto operator<=>(const HostName&) const = default;

 private:
  explicit HostName(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

// A host, or all hosts below one: "example.com" or "*.example.com". The second does not match
// example.com itself, and does not match notexample.com.
class HostPattern {
 public:
  [[nodiscard]] static Result<HostPattern> parse(std::string_view text);

  [[nodiscard]] bool matches(const HostName& host) const;
  [[nodiscard]] bool covers_subdomains() const { return subdomains_; }
  [[nodiscard]] const HostName& base() const { return base_; }  // what follows the "*."
  [[nodiscard]] std::string to_text() const;

  auto operator<=>(const HostPattern&) const = default;

 private:
  HostPattern(HostName base, bool subdomains) : base_(std::move(base)), subdomains_(subdomains) {}
  HostName base_;
  bool subdomains_;
};

// 1 to 65535, decimal, no sign, no leading zero.
[[nodiscard]] Result<std::uint16_t> parse_port(std::string_view text);

// An entry of a policy's network list: "host", "host:port", "*.host:port".
struct HostPort {
  HostPattern host;
  std::optional<std::uint16_t> port;

  [[nodiscard]] static Result<HostPort> parse(std::string_view text);
  [[nodiscard]] std::string to_text() const;
  auto operator<=>(const HostPort&) const = default;
};

}  // namespace sallyport
