#include "launch/outcome_packet.h"

#include "base/error.h"
#include "kernel/memory_file.h"
#include "launch/wire.h"

namespace sallyport {

Result<Outcome> outcome_in(const Packet& packet) {
  if (!packet.content.empty()) return decode_outcome(packet.content);
  const auto bytes = read_memory_file(packet.fds[0].get(), kLargestOutcome);
  return bytes ? decode_outcome(*bytes) : fail(Reason::internal, bytes.error());
}

}  // namespace sallyport
