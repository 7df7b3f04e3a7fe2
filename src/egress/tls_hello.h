// What a client says first on a TLS connection, as far as it can be seen: the name of the server
// that it wants.
//
// The name decides whether the connection is let through, so nothing may make the server behind
// read another one. There is one reading here or none: what a server might put together, skip or
// forgive is refused.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "input/host.h"

namespace sallyport {

// Reads one ClientHello that arrives in any number of pieces. The result depends on the bytes
// alone, not on where they were split: bytes are judged in their order, and the first fault is the
// answer.
class TlsHelloParser {
 public:
  enum class State { incomplete, complete, refused };

  // No more than these are looked at: a record with its header. With fewer the answer may be
  // `incomplete`, with as many it is not.
  static constexpr std::size_t kMostBytes = 5 + (std::size_t{16} << 10);
  static constexpr std::size_t kMostProtocols = 64;

  // `bytes` is all that came since the connection began: at least what was shown the last time.
  // What follows the hello (early data) is not looked at.
  [[nodiscard]] State parse(std::string_view bytes);

  // Of a complete one: the one server name.
  [[nodiscard]] const HostName& name() const { return *name_; }
  // Of a complete one: what the client would speak (ALPN), in its order; empty: it does not say.
  // Any bytes but none.
  [[nodiscard]] const std::vector<std::string>& protocols() const { return protocols_; }

  // Of a refused one: why, as a sentence.
  [[nodiscard]] std::string_view fault() const { return fault_; }

 private:
  State refuse(std::string_view sentence);
  State hello(std::string_view body);
  State extensions(std::string_view list);
  State server_name(std::string_view body);
  State offered_protocols(std::string_view body);

  State state_ = State::incomplete;
  std::string_view fault_;
  std::optional<HostName> name_;
  std::vector<std::string> protocols_;
};

}  // namespace sallyport
