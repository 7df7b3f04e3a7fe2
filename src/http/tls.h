// TLS 1.2 and 1.3 by OpenSSL, over a socket that does not block.
#pragma once

#include <memory>
#include <string>

#include "base/error.h"
#include "http/byte_stream.h"

namespace sallyport {

struct TlsSettings;

// A certificate with its key, ready for any number of connections; from any thread.
class TlsContext {
 public:
  // Reads PEM texts only: no file, no configuration of OpenSSL, no question for a password.
  [[nodiscard]] static Result<std::shared_ptr<const TlsContext>> create(
      const TlsSettings& settings);

  virtual ~TlsContext() = default;
  // Null: no memory. The thread that uses it must have SIGPIPE blocked or ignored.
  [[nodiscard]] virtual std::unique_ptr<ByteStream> stream(int socket) const = 0;
};

}  // namespace sallyport
