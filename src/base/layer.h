// The layers of isolation by name, as results, `--require`, the policy and the documentation have
// them. Here, so that a policy can be checked without the cell that it is for.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace sallyport {

// A layer without which the cell must not run.
struct Requirement {
  std::string layer;              // a name of kLayers
  std::optional<unsigned> level;  // the least version of it, for a layer that has versions
};

// A layer of isolation by the name it has in results, in `--require` and in the documentation.
struct LayerText {
  std::string_view name;
  std::string_view sentence;
  bool has_levels = false;
};

inline constexpr LayerText kLayers[] = {
    {"user", "own user namespace; never the host's uid 0"},
    {"mount", "own mount namespace and root filesystem"},
    {"pid", "own process numbers; no other process can be seen or signalled"},
    {"net", "own network: loopback, and the hosts that are allowed"},
    {"ipc", "own System V IPC and POSIX message queues"},
    {"uts", "own host name"},
    {"cgroup_namespace", "own view of the cgroup tree"},
    {"seccomp", "system calls by allowlist"},
    {"landlock", "Landlock as a second file system boundary", true},
    {"cgroup", "limits that the kernel holds for all processes together"},
    {"memory", "the memory limit is the kernel's, not a watcher's"},
    {"groups", "no supplementary group of the caller"},
    {"disk", "everything the command can write is bounded in size"},
    {"capabilities", "no capability, and no way to gain one"},
};

// Reads "LAYER" or "LAYER:LEVEL".
[[nodiscard]] Result<Requirement> parse_requirement(std::string_view text);

// A part of the message with which a cell refuses to run without a layer: whoever asked for the
// layer can name the rule that did.
inline constexpr std::string_view kUnmetRequirement = " is required and cannot be had";

}  // namespace sallyport
