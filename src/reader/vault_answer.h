// What Vault answers, as far as a credential needs it.
#pragma once

#include <chrono>
#include <expected>
#include <string>
#include <string_view>

namespace sallyport {

// How long a secret is good for, where Vault made it for us.
struct VaultLease {
  std::string id;  // empty: there is none, the secret lasts
  std::chrono::seconds duration{};
  bool renewable = false;
};

// What was read. A lease may come with a value that is of no use, and is then to be given back.
struct VaultSecret {
  std::string value;  // empty: there is none
  std::string why;    // there is none, as a sentence without any part of a secret
  VaultLease lease;
};

inline constexpr std::size_t kLargestVaultAnswer = std::size_t{256} << 10;
inline constexpr std::chrono::seconds kLongestLease = std::chrono::hours(24 * 366);

// The answer to a read. `fields`: a name, or several with ':' between them, and so between their
// values. Of a KV store of version 2 the data is looked for where that has it.
[[nodiscard]] VaultSecret parse_vault_secret(std::string_view body, std::string_view fields);

// The answer to a renewal; an error is a sentence.
[[nodiscard]] std::expected<VaultLease, std::string> parse_vault_lease(std::string_view body);

// What an answer with an error says, made plain; empty: nothing.
[[nodiscard]] std::string vault_complaint(std::string_view body);

}  // namespace sallyport
