// The packets between the front and the launcher: 24 bytes of a fixed form, and descriptors. The
// claim or outcome that a packet brings stands behind these bytes if it is small, and is a sealed
// memory file otherwise: making one and reading it takes longer than many a step of a call.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/fd.h"

namespace sallyport {

// One connection is one call:
//
//   front → launcher   claim     the claim; descriptors: those that the flags name
//   launcher → front   accepted  from here on the tool runs when it is told to
//   front → launcher   go        it may run: sent when the front's record is durable
//   launcher → front   outcome   the outcome
//
// `go` may come before `accepted` is sent; the tool runs after both. The front ends the call by
// shutting down its side, or by being dead.
//
// A connection without a call is for knowing whether there is a launcher:
//
//   front → launcher   hello
//   launcher → front   hello     and it stays open for a while: its end is the launcher's
//
// The same for what the pool of parked cells does:
//
//   front → launcher   pool
//   launcher → front   pool      descriptor: PoolStatus
//
// A client that shows files of its own to its command speaks with a child of the launcher, over a
// socket of its own, and keeps the connection until its call has ended:
//
//   client → launcher   visit    descriptors: the Visit, then those of its files
//   launcher → client   ticket   `id`: what the claim of its call is to have; or an outcome
//
// Between the launcher and a supervisor that makes a cell ahead of need:
//
//   supervisor → launcher   ready      the cell is parked; `id`: of an image it would have liked
//   launcher → supervisor   wake       what dozes in the cell is to get ready for a call
//   supervisor → launcher   ready      it is
//   launcher → supervisor   hand_over  the claim; descriptors: the connection, then as before; the
//                                      same for the child that a client speaks with
//   supervisor → launcher   idle       the call has ended, the cell is taken down
//   launcher → supervisor   make       make another one of the same class
//
//   supervisor → launcher   root       descriptors: a shared root, for others of the same `id`
//   supervisor → launcher   image      descriptor: the image of a template
enum class PacketKind : std::uint8_t {
  claim = 1,
  accepted = 2,
  outcome = 3,
  hello = 4,
  pool = 5,
  ready = 6,
  hand_over = 7,
  image = 8,
  idle = 9,
  make = 10,
  go = 11,
  wake = 12,
  root = 13,
  visit = 14,
  ticket = 15,
};

// Of a claim: which descriptors follow, in this order.
enum PacketFlag : std::uint8_t {
  kHasOutput = 1,      // a pipe for standard output while the tool runs
  kHasError = 2,       // the same for standard error
  kHasDirectory = 4,   // where artifacts go
  kHasConnection = 8,  // a socket for the tool
  kHasClass = 16,      // the class of the cell, whose digest is the packet's `id`
  kHasTicket = 32,     // no descriptor: the packet's `id` is a client's ticket
};

// Of `ready`: the image with that id is there, and is of no use; what waits in the cell dozes.
inline constexpr std::uint8_t kBadImage = 1;
inline constexpr std::uint8_t kDozing = 2;
// Of `make`: it has time; what waits in it may doze.
inline constexpr std::uint8_t kSpare = 1;
inline constexpr std::uint8_t kMayDoze = 2;

inline constexpr std::size_t kMostVisitFiles = 16;
inline constexpr std::size_t kMostPacketFds = 1 + kMostVisitFiles;
inline constexpr std::size_t kMostPacketContent = 8192;
inline constexpr std::uint64_t kPacketUnit = 65536;

// A part of a digest: of a class of cells, of a template, or of what a shared root is made from.
using PacketId = std::array<std::uint8_t, 16>;
[[nodiscard]] PacketId id_of(std::string_view bytes);

struct Packet {
  PacketKind kind{};
  std::uint8_t flags = 0;
  PacketId id{};           // zeros where there is none
  std::uint16_t size = 0;  // of `ready`: memory of the cell, in kPacketUnit
  std::string content;     // of a claim or outcome; empty: it is a memory file
  // As many as kind and flags ask for: the connection, the memory file, those of the flags.
  std::vector<Fd> fds;
};

// Of a claim without its connection: where those begin that its flags name.
[[nodiscard]] inline std::size_t first_named(const Packet& claim) {
  return claim.content.empty() ? 1 : 0;
}

// Never waits.
[[nodiscard]] Sys<void> send_packet(int socket, PacketKind kind, std::uint8_t flags,
                                    std::span<const int> fds, const PacketId& id = {},
                                    std::uint16_t size = 0, std::string_view content = {});

// Never waits. EAGAIN: nothing is there; EPIPE: the other side has ended; EBADMSG: it sent
// something else, of which nothing is left open here.
[[nodiscard]] Sys<Packet> receive_packet(int socket);

}  // namespace sallyport
