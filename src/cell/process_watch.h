// The weaker means where there is no cgroup: adds up CPU time and memory over the processes of a
// cell, read from the cell's own /proc. Between two looks a cell can exceed its limit; results say
// so (`memory: rlimit and watcher`).
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "base/fd.h"

namespace sallyport {

struct WatchedUsage {
  // Of live processes and of children they have waited for.
  std::uint64_t cpu_user_us = 0, cpu_system_us = 0;
  std::uint64_t memory_bytes = 0;  // proportional share, where the kernel tells; else resident size
  std::uint64_t processes = 0;     // threads included, init not
};

class ProcessWatch {
 public:
  // `proc` is a directory of the procfs that shows the cell's processes.
  explicit ProcessWatch(Fd proc) : proc_(std::move(proc)) {}
  // Stops counting at `deadline`: a cell can make itself slow to look at.
  [[nodiscard]] WatchedUsage look(std::chrono::steady_clock::time_point deadline) const;

 private:
  Fd proc_;
};

// CPU time, that of waited-for children included, and number of threads from a /proc/PID/stat line;
// the name in it may contain anything.
struct StatLine {
  std::uint64_t cpu_user_us = 0, cpu_system_us = 0;
  std::uint64_t threads = 0;
};
StatLine parse_stat_line(std::string_view line);

}  // namespace sallyport
