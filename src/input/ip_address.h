// A numeric address in its one strict form, and whether it lies in the open internet.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sallyport/error.h"

namespace sallyport {

class IpAddress {
 public:
  // Four decimal numbers without leading zeros, or IPv6 without brackets and without a zone. The
  // forms of inet_aton (2130706433, 0x7f.1, 127.1, 0177.0.0.1) are refused.
  [[nodiscard]] static Result<IpAddress> parse(std::string_view text);

  [[nodiscard]] static IpAddress v4(std::array<std::uint8_t, 4> bytes);
  [[nodiscard]] static IpAddress v6(std::array<std::uint8_t, 16> bytes);

  [[nodiscard]] bool is_v4() const { return v4_; }
  [[nodiscard]] const std::array<std::uint8_t, 16>& bytes() const { return bytes_; }  // v4: four

  // Dotted quad, or RFC 5952 without brackets.
  [[nodiscard]] std::string to_text() const;

  auto operator<=>(const IpAddress&) const = default;

 private:
  bool v4_ = true;
  std::array<std::uint8_t, 16> bytes_{};
};

// What the address is when it is not one of the open internet ("loopback", "private", "metadata
// service"), or nothing. An IPv4 address within an IPv6 one (mapped, NAT64) is judged as itself;
// tunnels (6to4, Teredo, ISATAP) and IPv6 outside 2000::/3 are internal as a whole.
[[nodiscard]] std::optional<std::string_view> internal_range(const IpAddress& address);

[[nodiscard]] inline bool is_internal(const IpAddress& address) {
  return internal_range(address).has_value();
}

}  // namespace sallyport
