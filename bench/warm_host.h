// What the figures depend on and belongs to the host: how long it takes to move a process into a
// cgroup, free memory, other people's load.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "base/json.h"

namespace sallyport::warm {

// Kernel, processors, memory, load.
[[nodiscard]] json::object describe_host();

// The cost of moving one process after a moment without any (the kernel waits for all its
// processors then, unless it was told to favour such moves), by the process itself and by another.
// In a cgroup of its own, which is removed again. A sentence under "skipped" where there is none.
[[nodiscard]] json::object measure_attach(unsigned samples);

// What the kernel could still give to programs, in bytes.
[[nodiscard]] std::uint64_t available_memory();

// Processes that do nothing but compute, for as long as this lives. They end with their parent, and
// by themselves after two minutes of CPU time.
class Hogs {
 public:
  explicit Hogs(unsigned count);
  ~Hogs();
  Hogs(const Hogs&) = delete;
  Hogs& operator=(const Hogs&) = delete;

 private:
  std::vector<pid_t> pids_;
};

}  // namespace sallyport::warm
