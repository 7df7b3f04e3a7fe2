// What a cell asked of the network, and what became of it.
#pragma once

#include <cstdint>
#include <string>

namespace sallyport {

struct NetworkEvent {
  std::string kind;  // "name": it was looked up; "connection", "request"; "unlisted": the rest
  std::string
      verdict;       // "allowed", "refused", "failed" (allowed, and it came to nothing), "unknown"
  std::string host;  // as far as it is known
  std::uint16_t port = 0;
  std::string address;                   // that was dialled; empty: none was
  std::uint64_t sent = 0, received = 0;  // bytes, as the cell sees them
  std::string rule;                      // by which it was judged; empty: no rule allows it
  std::string why;                       // it was refused, or what failed
  std::string credential;                // that was sent with it; refused: that was misused
  bool operator==(const NetworkEvent&) const = default;
};

}  // namespace sallyport
