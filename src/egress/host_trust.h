// Whom the egress process believes to be a host whose TLS is looked into: those that the roots of
// this machine vouch for, by exactly the name that was asked for.
#pragma once

#include <string>

#include "base/error.h"
#include "egress/openssl_handles.h"
#include "input/host.h"

namespace sallyport {

class HostTrust {
 public:
  // `roots`: certificates, as PEM. They are not looked at before they are needed.
  explicit HostTrust(std::string roots) : roots_(std::move(roots)) {}

  // The client's side of one connection with `name`. TLS 1.2 or newer, and HTTP/1.1 in it.
  [[nodiscard]] Result<TlsHandle> session_for(const HostName& name);

 private:
  [[nodiscard]] Result<void> begin();

  std::string roots_;
  TlsContextHandle context_;
};

}  // namespace sallyport
