// The result of one run of a cell, in the words of every door.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sallyport/artifact.h"
#include "sallyport/finding.h"
#include "sallyport/network_event.h"
#include "sallyport/reason.h"

namespace sallyport {

enum class Status { success, error, blocked, killed, pending };

constexpr std::string_view name_of(Status status) {
  switch (status) {
    case Status::success:
      return "success";
    case Status::error:
      return "error";
    case Status::blocked:
      return "blocked";
    case Status::killed:
      return "killed";
    case Status::pending:
      return "pending";
  }
  return {};
}

// One layer as it was in force: {"landlock", "7"}, {"cgroup", "none"}.
struct Layer {
  std::string name;
  std::string value;
  bool in_force = true;
  unsigned level = 0;  // for layers with versions
};

struct Usage {
  std::int64_t wall_us = 0;
  std::uint64_t cpu_user_us = 0, cpu_system_us = 0;
  std::uint64_t peak_memory_bytes = 0;
  std::uint64_t processes = 0;  // most at once, where the kernel counts them
  std::optional<std::uint64_t> read_bytes, write_bytes;  // of block devices
  std::uint64_t output_bytes = 0;
  bool final = true;  // false: something was still stuck in the kernel when the answer was due
};

struct Timing {
  std::string step;
  std::int64_t microseconds;
};

struct Outcome {
  std::string call_id;
  Status status = Status::success;
  Reason reason = Reason::none;
  std::string message, hint;  // ours
  std::string output, error;  // the tool's, trimmed, as it wrote them
  std::optional<int> exit_code;
  bool truncated = false;
  std::vector<std::string> limits_hit;
  std::map<std::string, std::uint64_t> refused_syscalls;  // by name
  std::vector<Artifact> artifacts;
  std::vector<Finding> findings;
  std::vector<NetworkEvent> network;  // what it asked of the network, where it had one
  Usage usage;
  std::vector<Layer> layers;
  std::vector<Timing> timings;
};

}  // namespace sallyport
