// The certificate authority of one cell whose TLS is looked into. It vouches for the inspected
// hosts and for no other name, nobody but the cell trusts it, and its key is never written down: it
// dies with the cell.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>

#include "base/error.h"
#include "egress/openssl_handles.h"
#include "input/host.h"

namespace sallyport {

class Authority {
 public:
  static constexpr std::size_t kMostLeaves = 128;  // that are remembered

  [[nodiscard]] static Result<std::unique_ptr<Authority>> make(std::span<const HostPattern> hosts);

  // Its certificate, as PEM.
  [[nodiscard]] const std::string& certificate() const { return certificate_text_; }

  // The server's side of one connection of a client that wants `name`. TLS 1.2 or newer, and
  // HTTP/1.1 or PostgreSQL in it.
  [[nodiscard]] Result<TlsHandle> session_for(const HostName& name);

  // The certificate of a server of that name, which stays the authority's.
  [[nodiscard]] Result<X509*> leaf_for(const HostName& name);

 private:
  Authority() = default;

  KeyHandle key_, leaf_key_;
  CertificateHandle certificate_;
  std::string certificate_text_;
  TlsContextHandle context_;
  std::map<HostName, CertificateHandle> leaves_;
};

}  // namespace sallyport
