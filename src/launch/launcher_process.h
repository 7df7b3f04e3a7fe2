// The launcher: the one process of the service that has privileges. Single-threaded and tiny; it
// reads eight bytes and counts children. Everything about one call is done by a child of its own,
// the supervisor, which dies with it.
#pragma once

#include <sys/types.h>

#include "base/fd.h"
#include "launch/ceiling.h"
#include "launch/packet.h"

namespace sallyport {

struct LauncherSettings {
  Fd listener;  // SOCK_SEQPACKET, bound, listening, non-blocking; others may hold it too
  Fd serving;   // closed when it accepts no more
  uid_t front;  // the only user that may ask
  LaunchCeiling ceiling;
  Fd egress = {};  // the door of the egress process; none: cells have no network
};

// Serves until SIGTERM, and then until the last call has ended; the exit code. To be called in a
// process of its own with one thread: it takes over its signals.
int run_launcher(LauncherSettings settings);

// The child's part: answers the one claim on `connection`, and never returns. Nothing in the packet
// is trusted; `launcher` is the process without which it must not live.
[[noreturn]] void supervise(const LaunchCeiling& ceiling, uid_t front, pid_t launcher,
                            const Fd& connection, const Packet& claim, int egress);

// Sends an outcome; it is lost when the other side is gone.
void send_outcome(int connection, const Outcome& outcome);

}  // namespace sallyport
