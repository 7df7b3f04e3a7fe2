// The keeper at work: its children and what they need, until it is told to stop.
#pragma once

#include <string>
#include <vector>

#include "egress/door.h"
#include "launch/ceiling.h"
#include "serve/checked_policy.h"
#include "serve/front_user.h"
#include "serve/keeper.h"
#include "serve/launcher_socket.h"
#include "serve/listeners.h"

namespace sallyport {

inline constexpr int kStopped = 0, kCouldNotServe = 125;  // exit codes

// What is fixed for as long as the service runs.
struct Ground {
  FrontUser user;
  UidRange uids;
  std::string program, state;
  TlsSettings tls;
  std::vector<Listener> listeners;
  std::vector<Listener> files = {};  // beside them, for the launcher alone
  LauncherSocket launcher;
  FrontUser egress_user;
  DoorPair egress;  // held here, so that a cell can wait for an egress process that is started anew
};

// Blocks and takes over the signals of this process, which has one thread. The exit code.
int keep_running(const ServeOptions& options, Front front, Ground ground, CheckedPolicy policy,
                 LaunchCeiling ceiling);

// Closes every descriptor but the standard streams and `kept`.
void close_all_but(std::vector<int> kept);

}  // namespace sallyport
