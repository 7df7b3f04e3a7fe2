// Where a secret comes from, and how it is told to the process that uses it.
#pragma once

#include <string>

#include "base/wire.h"
#include "sallyport/units.h"

namespace sallyport {

// As the policy has it; nothing in it is secret.
struct CredentialSource {
  std::string name;
  std::string from;  // "file:/PATH", "env:NAME", "command:/PATH WORD…", "vault:PATH#FIELD"
  Duration refresh = std::chrono::minutes(1);
  bool operator==(const CredentialSource&) const = default;
};

// What became of one source: the secret, or why it cannot be had. One packet each.
struct SecretNews {
  std::string name;
  std::string value;  // empty: there is none, or no longer
  std::string why;    // there is none, as a sentence
};

inline constexpr std::size_t kLargestSecret = std::size_t{16} << 10;
inline constexpr std::size_t kLargestNews = kLargestSecret + (std::size_t{4} << 10);

template <class Wire>
void visit(Wire& wire, CredentialSource& source) {
  auto& [name, from, refresh] = source;
  visit(wire, name);
  visit(wire, from);
  visit(wire, refresh);
}

template <class Wire>
void visit(Wire& wire, SecretNews& news) {
  auto& [name, value, why] = news;
  visit(wire, name);
  visit_bytes(wire, value);
  visit_bytes(wire, why);
}

}  // namespace sallyport
