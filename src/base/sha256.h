// SHA-256 (FIPS 180-4) of texts that are here in whole: hashes of policies and envelopes. A library
// of cryptography would triple the program and the time that it takes to start.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace sallyport {

using Sha256 = std::array<std::uint8_t, 32>;

[[nodiscard]] Sha256 sha256(std::string_view bytes);

// The same without the instructions that some processors have for it: so that both can be tested.
[[nodiscard]] Sha256 sha256_portable(std::string_view bytes);

// A digest as 64 hexadecimal digits in lower case.
class Sha256Text {
 public:
  explicit Sha256Text(const Sha256& digest);
  [[nodiscard]] std::string_view view() const { return {digits_.data(), digits_.size()}; }

 private:
  std::array<char, 2 * sizeof(Sha256)> digits_;
};
[[nodiscard]] std::string sha256_hex(std::string_view bytes);

// HMAC (RFC 2104) with SHA-256: a digest that only who has the key can make or compare with a
// guess.
[[nodiscard]] Sha256 hmac_sha256(std::string_view key, std::string_view bytes);
[[nodiscard]] std::string hmac_sha256_hex(std::string_view key, std::string_view bytes);

}  // namespace sallyport
