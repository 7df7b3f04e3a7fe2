// The launcher: the one process of the service that has privileges. Single-threaded and tiny; it
// reads packets of a fixed size and counts children. Everything about one call is done by a child,
// its supervisor, which dies with it. Some of these are started before their call comes: they make
// a cell and wait with it, and afterwards make the next one of its class.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <chrono>
#include <map>
#include <vector>

#include "base/fd.h"
#include "cell/shared_root.h"
#include "launch/ceiling.h"
#include "launch/packet.h"

namespace sallyport {

struct LauncherSettings {
  Fd listener;  // SOCK_SEQPACKET, bound, listening, non-blocking; others may hold it too
  Fd serving;   // closed when it accepts no more
  uid_t front;  // the only user that may ask
  LaunchCeiling ceiling;
  Fd egress = {};  // the door of the egress process; none: cells have no network
  // SOCK_SEQPACKET as well, for clients that show files of their own.
  std::vector<Fd> clients = {};
};

// Serves until SIGTERM, and then until the last call has ended; the exit code. To be called in a
// process of its own with one thread: it takes over its signals.
int run_launcher(LauncherSettings settings);

// So long a supervisor makes cells of its class, so that what it has seen of the system does not
// grow old.
inline constexpr std::chrono::seconds kSupervisorLife{60};

// The images of interpreters, by the id of their template.
using Images = std::map<PacketId, Fd>;

// Shared roots that supervisors have made, by what they are made from. A supervisor that gets one
// lives no longer than the one that made it.
struct KeptRoot {
  SharedRoot root;
  std::chrono::steady_clock::time_point since;
};
using Roots = std::map<PacketId, KeptRoot>;

// What a supervisor has from its launcher.
struct SupervisorPost {
  const LaunchCeiling& ceiling;
  uid_t front;
  pid_t launcher;  // the process without which it must not live
  int egress;
  const Images& images;
  const Roots& roots;
};

// The child's part: answers the one claim on `connection`, and never returns. Nothing in the packet
// is trusted.
[[noreturn]] void supervise(const SupervisorPost& post, const Fd& connection, const Packet& claim);

// The same for a claim that is not there yet: makes a cell of the class, says `ready` over `socket`
// and waits for it; then says `idle`, and does it again when it is told to. `how`: the flags of
// `make`, for the first one.
[[noreturn]] void supervise_parked(const SupervisorPost& post, const Fd& socket, int class_bytes,
                                   std::uint8_t how);

// A client that has come to show files of its own.
struct VisitPost {
  Fd client;        // its connection
  ucred peer;       // who it is, as the kernel says
  PacketId ticket;  // that it gets
};

// Hears the client, and answers the one claim that the launcher hands over for its ticket. Nothing
// of either is trusted: the claim has to be for the call that the client has described.
[[noreturn]] void supervise_visit(const SupervisorPost& post, const Fd& socket,
                                  const VisitPost& visit);

// Makes the template that cells of the class would like to have, and sends its image.
[[noreturn]] void make_template(const SupervisorPost& post, const Fd& socket, int class_bytes);

// Sends an outcome; it is lost when the other side is gone.
void send_outcome(int connection, const Outcome& outcome);

}  // namespace sallyport
