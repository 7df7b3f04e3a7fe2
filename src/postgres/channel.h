// Bytes to and from a server, over a socket that is connected already; with TLS where it is asked
// for.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "sallyport/error.h"

struct ssl_st;
struct ssl_ctx_st;

namespace sallyport {

class Channel {
 public:
  explicit Channel(Fd socket) : socket_(std::move(socket)) {}

  // From here on everything goes through TLS. The server must have a certificate for `name` (or for
  // this address) that one of `certificates`, a PEM text, vouches for.
  [[nodiscard]] Result<void> start_tls(const std::string& name, const std::string& certificates);

  [[nodiscard]] Result<void> write(std::string_view bytes);
  // All of `bytes`; the end of the connection before that is an error.
  [[nodiscard]] Result<void> read(std::span<char> bytes);

 private:
  struct FreeSsl {
    void operator()(ssl_st* ssl) const;
    void operator()(ssl_ctx_st* context) const;
  };
  [[nodiscard]] Result<std::size_t> read_some(std::span<char> bytes);

  Fd socket_;
  std::unique_ptr<ssl_ctx_st, FreeSsl> context_;
  std::unique_ptr<ssl_st, FreeSsl> ssl_;
  std::string buffer_;
  std::size_t used_ = 0;  // of the buffer
};

}  // namespace sallyport
