// The cgroup of one cell: hard limits on memory, processes, CPU and I/O, the kernel's own account
// of what was used, and a kill that nothing in the cell escapes. Two backends behind one interface:
// v2, and v1 in full.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace sallyport {

enum class CgroupVersion { none, v1, v2 };

constexpr std::string_view name_of(CgroupVersion version) {
  switch (version) {
    case CgroupVersion::v1:
      return "v1";
    case CgroupVersion::v2:
      return "v2";
    case CgroupVersion::none:
      break;
  }
  return "none";
}

struct CgroupLimits {
  std::uint64_t memory_bytes = 0;  // swap is always off, so this is all there is
  std::uint32_t processes = 0;     // threads count too, and so does the cell's init
  double cpus = 0;                 // CPU time per wall time; at least 0.01
  std::optional<std::uint64_t> io_bytes_per_second;  // each way, on each device
  std::vector<dev_t> io_devices;  // st_dev of what the cell can reach; a partition means its disk
};

struct CgroupUsage {
  std::uint64_t cpu_user_us = 0;
  std::uint64_t cpu_system_us = 0;
  std::uint64_t peak_memory_bytes = 0;
  std::uint64_t peak_processes = 0;
  // From and to block devices, not the page cache. Empty without an I/O controller.
  std::optional<std::uint64_t> read_bytes;
  std::optional<std::uint64_t> write_bytes;
  std::uint64_t oom_kills = 0;
  std::uint64_t processes_refused = 0;
  std::uint64_t throttled_periods = 0;
};

// What this host offers to this process. `why_not` and `fix` are sentences; both are empty when
// `usable`.
struct CgroupSupport {
  CgroupVersion version = CgroupVersion::none;
  bool usable = false;
  std::string why_not;
  std::string fix;     // a command, where there is one
  std::string parent;  // the directory that cells' groups go into (on v1: the one of `memory`)
  std::vector<std::string> controllers;
  std::vector<std::string> missing;
};

// Looks and changes nothing.
[[nodiscard]] CgroupSupport probe_cgroups();

// One cell's group. The destructor kills what is left in it and removes it, waiting a bounded time;
// what a process stuck in the kernel keeps alive past that is left to the sweep.
class Cgroup {
 public:
  // Makes an empty group with every limit in force, or an error (`cannot_enforce` names file, value
  // and cause) and nothing left behind. `id` is unique among the caller's live groups: letters,
  // digits, '-' and '_'. The first call in a process prepares the parent; on a delegated v2 group
  // that moves this process into a leaf.
  [[nodiscard]] static Result<std::unique_ptr<Cgroup>> create(std::string_view id,
                                                              const CgroupLimits& limits);

  Cgroup() = default;
  Cgroup(const Cgroup&) = delete;
  Cgroup& operator=(const Cgroup&) = delete;
  virtual ~Cgroup() = default;

  [[nodiscard]] virtual CgroupVersion version() const = 0;

  // v2: the directory for clone3(CLONE_INTO_CGROUP). v1: -1.
  [[nodiscard]] virtual int clone_into_fd() const = 0;

  // v1: the open `tasks` files, into each of which the single-threaded child writes "0" to enter.
  // v2: empty.
  [[nodiscard]] virtual std::span<const int> entry_fds() const = 0;

  // Polled with oom_poll_events(), it reports that the memory limit was hit; -1 where the kernel
  // offers no such event. v1 speaks just before its kill, v2 on any memory event: oom_kills() tells
  // whether something was killed.
  [[nodiscard]] virtual int oom_fd() const = 0;
  [[nodiscard]] virtual short oom_poll_events() const = 0;

  // Processes that the kernel has killed for memory; quiets oom_fd() until the next event.
  [[nodiscard]] virtual std::uint64_t oom_kills() = 0;

  // CPU time so far; cheap, for the supervisor's tick. Where the kernel keeps no high-water marks,
  // this call is also what samples them.
  [[nodiscard]] virtual std::uint64_t cpu_used_us() = 0;

  // To be read after the last process has gone and before remove().
  [[nodiscard]] virtual CgroupUsage usage() = 0;

  // CPU time and memory so far, of a group that waits: what usage() will read is opened, so that
  // only reading is left to do then.
  [[nodiscard]] virtual CgroupUsage usage_so_far() { return usage(); }

  // SIGKILL to everything in the group, forks in progress included. Does not wait for the deaths on
  // v2; on v1 for at most 100 ms, until no process is left to signal.
  virtual void kill() = 0;

  // One attempt; true when the group is gone.
  [[nodiscard]] virtual bool remove() = 0;
};

// Kills and removes the groups that dead Sallyport processes left in our parent, which it prepares
// as create() does. A group whose owner lives is never touched, also when the owner is in another
// pid namespace.
void sweep_cgroups();

}  // namespace sallyport
