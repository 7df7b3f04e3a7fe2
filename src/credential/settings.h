// What the process that reads the sources of credentials is told. Nothing in it is secret.
#pragma once

#include <string>
#include <vector>

#include "credential/source.h"

namespace sallyport {

// The one Vault of a policy; without an address there is none.
struct VaultSettings {
  std::string address;     // "https://NAME:PORT", or "http://" and an address of the loopback
  std::string token;       // "file:/PATH" or "env:NAME"
  std::string ca;          // who vouches for it, as PEM; empty: whom the machine trusts
  std::string name_space;  // of Vault Enterprise; empty: the root's
  bool internal = false;   // its name may lead to an address that is not of the open internet
  bool operator==(const VaultSettings&) const = default;
};

struct ReaderSettings {
  std::vector<CredentialSource> sources;
  // A file with the name of a credential in this directory takes that credential back, at once.
  // Empty: there is no such directory.
  std::string revoked;
  VaultSettings vault;
  bool operator==(const ReaderSettings&) const = default;
};

// That directory of a state directory.
inline constexpr const char* kRevokedDirectory = "revoked-credentials";
[[nodiscard]] inline std::string revoked_directory(const std::string& state) {
  return state + "/" + kRevokedDirectory;
}

template <class Wire>
void visit(Wire& wire, VaultSettings& vault) {
  auto& [address, token, ca, name_space, internal] = vault;
  visit(wire, address);
  visit(wire, token);
  visit(wire, ca);
  visit(wire, name_space);
  visit(wire, internal);
}

template <class Wire>
void visit(Wire& wire, ReaderSettings& settings) {
  visit_list(wire, settings.sources, [](Wire& to, CredentialSource& source) { visit(to, source); });
  visit(wire, settings.revoked);
  visit(wire, settings.vault);
}

}  // namespace sallyport
