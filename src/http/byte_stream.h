// The bytes of one connection, whether they come over TCP, a unix socket or TLS. Nothing here
// waits: what cannot be done now says what to wait for.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace sallyport {

class ByteStream {
 public:
  enum class Want { nothing, read, write };  // what the socket must be ready for before another try
  struct Progress {
    std::size_t bytes = 0;
    Want want = Want::nothing;  // with no bytes and nothing to wait for, the stream has ended
  };

  virtual ~ByteStream() = default;

  // Before anything else; true with nothing to wait for: done.
  struct Greeting {
    bool done = false;
    Want want = Want::nothing;
  };
  [[nodiscard]] virtual Greeting greet() = 0;
  [[nodiscard]] virtual Progress read(std::span<char> room) = 0;
  [[nodiscard]] virtual Progress write(std::string_view bytes) = 0;
  // Says that nothing more will be written.
  virtual void finish() = 0;
  // Whether bytes may be waiting although the socket is not ready.
  [[nodiscard]] virtual bool may_hold_bytes() const = 0;
  // The common name of the certificate that the client showed and that was verified; else empty.
  [[nodiscard]] virtual std::string client_certificate() const = 0;
};

// Over the socket itself, which stays the caller's and does not block.
[[nodiscard]] std::unique_ptr<ByteStream> plain_stream(int socket);

}  // namespace sallyport
