#include "input/ip_address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <span>

#include "base/parse.h"
#include "base/text.h"

namespace sallyport {
namespace {

struct Range4 {
  std::array<std::uint8_t, 4> first;
  unsigned bits;
  std::string_view what;
};

// The IANA registry of special addresses, and the services that clouds put on others.
constexpr Range4 kInternal4[] = {
    {{0, 0, 0, 0}, 8, "unspecified"},
    {{10, 0, 0, 0}, 8, "private"},
    {{100, 64, 0, 0}, 10, "carrier-grade NAT"},
    {{127, 0, 0, 0}, 8, "loopback"},
    {{168, 63, 129, 16}, 32, "metadata service"},
    {{169, 254, 0, 0}, 16, "link-local"},
    {{172, 16, 0, 0}, 12, "private"},
    {{192, 0, 0, 0}, 24, "reserved"},
    {{192, 0, 2, 0}, 24, "documentation"},
    {{192, 88, 99, 0}, 24, "6to4 relay"},
    {{192, 168, 0, 0}, 16, "private"},
    {{198, 18, 0, 0}, 15, "benchmarking"},
    {{198, 51, 100, 0}, 24, "documentation"},
    {{203, 0, 113, 0}, 24, "documentation"},
    {{224, 0, 0, 0}, 4, "multicast"},
    {{240, 0, 0, 0}, 4, "reserved"},  // with the broadcast address
};

struct Range6 {
  std::array<std::uint8_t, 8> first;
  unsigned bits;
  std::string_view what;
};

// What is not of the open internet within 2000::/3, and names for the best known outside it.
constexpr Range6 kInternal6[] = {
    {{0x00, 0x64, 0xff, 0x9b, 0x00, 0x01}, 48, "local NAT64"},
    {{0x20, 0x01, 0x00, 0x00}, 32, "Teredo"},
    {{0x20, 0x01, 0x00, 0x00}, 23, "reserved"},  // with benchmarking and ORCHID
    {{0x20, 0x01, 0x0d, 0xb8}, 32, "documentation"},
    {{0x20, 0x02}, 16, "6to4"},
    {{0x3f, 0xff, 0x00, 0x00}, 20, "documentation"},
    {{0xfc}, 7, "private"},  // with fd00:ec2::254
    {{0xfe, 0x80}, 10, "link-local"},
    {{0xfe, 0xc0}, 10, "site-local"},
    {{0xff}, 8, "multicast"},
};

bool within(std::span<const std::uint8_t> bytes, std::span<const std::uint8_t> first,
            unsigned bits) {
  for (std::size_t i = 0; bits > 0; ++i) {
    const unsigned here = std::min(bits, 8u);
    const auto mask = static_cast<std::uint8_t>(0xFFu << (8 - here));
    if ((bytes[i] & mask) != (first[i] & mask)) return false;
    bits -= here;
  }
  return true;
}

std::optional<std::string_view> internal_range_v4(std::span<const std::uint8_t> bytes) {
  for (const Range4& range : kInternal4)
    if (within(bytes, range.first, range.bits)) return range.what;
  return std::nullopt;
}

std::optional<std::array<std::uint8_t, 4>> dotted_quad(std::string_view text) {
  std::array<std::uint8_t, 4> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    // The last number must use up the text: take() would not tell "1.2.3.4." from "1.2.3.4".
    const std::string_view number = i + 1 < bytes.size() ? take(text, '.') : text;
    const auto value = whole_number<std::uint8_t>(number);
    if (!value || (number.size() > 1 && number[0] == '0')) return std::nullopt;
    bytes[i] = *value;
  }
  return bytes;
}

}  // namespace

Result<IpAddress> IpAddress::parse(std::string_view text) {
  if (const auto quad = dotted_quad(text)) return v4(*quad);
  // inet_pton wants a C string: a NUL within would end it early.
  std::array<char, INET6_ADDRSTRLEN> buffer{};
  constexpr std::string_view kCharacters = "0123456789abcdefABCDEF:.";
  if (text.contains(':') && text.size() < buffer.size() &&
      text.find_first_not_of(kCharacters) == std::string_view::npos) {
    text.copy(buffer.data(), text.size());
    std::array<std::uint8_t, 16> bytes{};
    if (inet_pton(AF_INET6, buffer.data(), bytes.data()) == 1) return v6(bytes);
  }
  return fail(Reason::argument, quoted(text) + " is not an IP address",
              "write four decimal numbers without leading zeros (192.0.2.1), or IPv6 without "
              "brackets and zone (2001:db8::1)");
}

IpAddress IpAddress::v4(std::array<std::uint8_t, 4> bytes) {
  IpAddress address;
  std::ranges::copy(bytes, address.bytes_.begin());
  return address;
}

IpAddress IpAddress::v6(std::array<std::uint8_t, 16> bytes) {
  IpAddress address;
  address.v4_ = false;
  address.bytes_ = bytes;
  return address;
}

std::string IpAddress::to_text() const {
  std::array<char, INET6_ADDRSTRLEN> buffer{};
  char* const last = buffer.data() + buffer.size();
  if (v4_) {  // of every request; inet_ntop() asks printf for it
    char* end = std::to_chars(buffer.data(), last, bytes_[0]).ptr;
    for (std::size_t i = 1; i < 4; ++i) {
      *end++ = '.';
      end = std::to_chars(end, last, bytes_[i]).ptr;
    }
    return {buffer.data(), end};
  }
  inet_ntop(AF_INET6, bytes_.data(), buffer.data(), buffer.size());
  return buffer.data();
}

std::optional<std::string_view> internal_range(const IpAddress& address) {
  const std::span<const std::uint8_t> bytes(address.bytes());
  if (address.is_v4()) return internal_range_v4(bytes.first(4));

  constexpr std::array<std::uint8_t, 16> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  constexpr std::array<std::uint8_t, 16> kNat64 = {0x00, 0x64, 0xff, 0x9b};
  if (within(bytes, kMapped, 96) || within(bytes, kNat64, 96))
    return internal_range_v4(bytes.last(4));
  constexpr std::array<std::uint8_t, 16> kLoopback = {0, 0, 0, 0, 0, 0, 0, 0,
                                                      0, 0, 0, 0, 0, 0, 0, 1};
  if (address.bytes() == kLoopback) return "loopback";
  if (within(bytes, std::array<std::uint8_t, 16>{}, 128)) return "unspecified";
  for (const Range6& range : kInternal6)
    if (within(bytes, range.first, range.bits)) return range.what;
  // ISATAP: an IPv4 address behind 0:5efe or 200:5efe, under any prefix.
  if ((bytes[8] & 0xFD) == 0 && bytes[9] == 0 && bytes[10] == 0x5e && bytes[11] == 0xfe)
    return "ISATAP";
  if ((bytes[0] & 0xE0) != 0x20) return "reserved";
  return std::nullopt;
}

}  // namespace sallyport
