// The certificate authorities that this machine trusts.
#pragma once

#include <string>

#include "base/file.h"

namespace sallyport {

// Where Debian keeps them in one file, and most other systems too.
inline constexpr const char* kSystemRoots = "/etc/ssl/certs/ca-certificates.crt";

// As PEM; empty: there are none.
[[nodiscard]] inline std::string system_roots() {
  for (const char* path : {kSystemRoots, "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"})
    if (auto text = read_file(path); text && !text->empty()) return std::move(*text);
  return {};
}

}  // namespace sallyport
