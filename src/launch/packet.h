// The packets between the front and the launcher: eight bytes of a fixed form, and descriptors.
// What is larger travels as a sealed memory file.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"
#include "base/fd.h"

namespace sallyport {

// One connection is one call:
//
//   front → launcher   claim     descriptors: the claim, then those that the flags name
//   launcher → front   accepted  from here on the tool may run
//   launcher → front   outcome   descriptor: the outcome
//
// The front ends the call by shutting down its side, or by being dead.
//
// A connection without a call is for knowing whether there is a launcher:
//
//   front → launcher   hello
//   launcher → front   hello     and it stays open for a while: its end is the launcher's
enum class PacketKind : std::uint8_t { claim = 1, accepted = 2, outcome = 3, hello = 4 };

// Of a claim: which descriptors follow, in this order.
enum PacketFlag : std::uint8_t {
  kHasOutput = 1,      // a pipe for standard output while the tool runs
  kHasError = 2,       // the same for standard error
  kHasDirectory = 4,   // where artifacts go
  kHasConnection = 8,  // a socket for the tool
};

inline constexpr std::size_t kMostPacketFds = 5;

struct Packet {
  PacketKind kind{};
  std::uint8_t flags = 0;
  std::vector<Fd> fds;  // as many as kind and flags ask for
};

// Never waits.
[[nodiscard]] Sys<void> send_packet(int socket, PacketKind kind, std::uint8_t flags,
                                    std::span<const int> fds);

// Never waits. EAGAIN: nothing is there; EPIPE: the other side has ended; EBADMSG: it sent
// something else, of which nothing is left open here.
[[nodiscard]] Sys<Packet> receive_packet(int socket);

}  // namespace sallyport
