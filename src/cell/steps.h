// The launch steps: the whole story of how a cell is built, in order. Run by the cell's init (PID 1
// of its namespaces).
#pragma once

#include <span>

#include "base/error.h"
#include "base/fd.h"
#include "cell/board.h"
#include "cell/plan.h"

namespace sallyport {

// What the steps hand on to each other.
struct Launch {
  Plan& plan;
  Board& board;
  Fd host_proc;     // the host's /proc, for the identity maps
  Fd proc;          // the cell's own, not attached yet
  Fd watched_proc;  // the same, for the supervisor where there is no cgroup
  Fd root;          // the tmpfs that becomes /
  Fd scratch;       // the tmpfs behind /tmp, /workspace and /dev/shm
  Fd listener;      // where refused system calls are reported
  Fd name_server;   // of an observed cell
};

struct Step {
  const char* name;
  Sys<void> (*run)(Launch&);
};

// The list. A step that fails ends the launch; the tool is never started.
std::span<const Step> launch_steps();

}  // namespace sallyport
