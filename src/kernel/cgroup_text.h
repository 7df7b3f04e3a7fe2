// What the kernel's text files say about cgroups, as values; and the decisions that follow from
// them. Pure functions: nothing here opens a file. Lines that make no sense are passed over, never
// guessed at.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/cgroup.h"

namespace sallyport {

// One cgroup or cgroup2 line of /proc/self/mountinfo.
struct CgroupMount {
  CgroupVersion version = CgroupVersion::none;
  std::string root;       // the cgroup that is seen at `directory`; not "/" in many containers
  std::string directory;  // the mount point
  std::vector<std::string> controllers;  // v1 only: the superblock's options
};
[[nodiscard]] std::vector<CgroupMount> parse_cgroup_mounts(std::string_view mountinfo);

// One line of /proc/self/cgroup.
struct CgroupMembership {
  int hierarchy = 0;                     // 0 is v2
  std::vector<std::string> controllers;  // empty on v2
  std::string path;
};
[[nodiscard]] std::vector<CgroupMembership> parse_cgroup_memberships(std::string_view text);

// The hierarchy that `memory` is bound to decides: a controller lives in v1 or in v2, never in
// both. A parent named by the administrator is always one in v2.
[[nodiscard]] CgroupVersion choose_cgroup_version(const std::vector<CgroupMount>& mounts,
                                                  const std::vector<CgroupMembership>& memberships,
                                                  bool parent_named);

// Where `cgroup` is seen through `mount`; empty when it lies outside of what is mounted.
[[nodiscard]] std::optional<std::string> directory_through(const CgroupMount& mount,
                                                           std::string_view cgroup);

// Who made a group, read from its name. `sallyport-<pid>-<starttime>-<id>` holds a cell;
// `sallyport-self-<pid>-<starttime>` holds Sallyport itself.
struct GroupOwner {
  pid_t pid = 0;
  std::uint64_t start_time = 0;  // clock ticks since boot: tells a reused pid
  bool self = false;
};
[[nodiscard]] std::string group_name(const GroupOwner& owner, std::string_view id);
[[nodiscard]] std::optional<GroupOwner> parse_group_name(std::string_view name);

// Letters, digits, '-' and '_', at most 64: an id becomes part of a path that root creates and
// removes.
[[nodiscard]] bool is_group_id(std::string_view id);

// The two fields of /proc/<pid>/stat that tell whether a process is still the one that was meant.
struct ProcessStat {
  char state = '?';
  std::uint64_t start_time = 0;
};
[[nodiscard]] std::optional<ProcessStat> parse_process_stat(std::string_view text);

// Which directory of a v2 tree takes the cells' groups.
struct V2Situation {
  std::string mount;                 // where the whole of what we see of the tree is mounted
  std::optional<std::string> own;    // our own group's directory, if it is below the mount
  bool owns_tree = false;            // root over the host's own, whole tree
  std::optional<std::string> named;  // SALLYPORT_CGROUP_PARENT
};
struct V2Parent {
  enum class Kind {
    // What the administrator said.
    named,
    // <mount>/sallyport, made on demand.
    top,
    // Our own group. We step aside into a leaf: v2 allows no process beside groups with
    // controllers.
    own,
    // We, or who started us, have stepped aside already: the directory above our leaf.
    beside,
  };
  Kind kind = Kind::own;
  std::string directory;
};
// An error is a named parent that is not below the mount, or an own group that cannot be seen.
[[nodiscard]] Result<V2Parent> choose_v2_parent(const V2Situation& situation);

// The deepest directory that holds both; write access to its cgroup.procs is what lets a process be
// born from one group into the other.
[[nodiscard]] std::string common_directory(std::string_view a, std::string_view b);

// "123\n". Nothing else may follow.
[[nodiscard]] std::optional<std::uint64_t> parse_count(std::string_view text);

// The count after `key` in a file of "key count" lines: cpu.stat, memory.events,
// memory.oom_control, pids.events.
[[nodiscard]] std::optional<std::uint64_t> count_of(std::string_view text, std::string_view key);

[[nodiscard]] bool contains(const std::vector<std::string>& words, std::string_view word);

// Whether a space-separated line such as cgroup.controllers has the word.
[[nodiscard]] bool has_word(std::string_view line, std::string_view word);

// cgroup.procs and the like. Processes of other pid namespaces are shown as 0.
[[nodiscard]] std::vector<pid_t> parse_pids(std::string_view text);

struct IoBytes {
  std::uint64_t read = 0;
  std::uint64_t write = 0;
};
[[nodiscard]] IoBytes parse_blkio_bytes(std::string_view text);  // v1: "254:0 Read 4096" lines
[[nodiscard]] IoBytes parse_io_stat(std::string_view text);  // v2: "254:0 rbytes=4096 wbytes=0 …"

// v1's cpuacct.usage_all: a heading, then "CPU USER SYSTEM" in nanoseconds for each processor.
struct CpuNanoseconds {
  std::uint64_t user = 0;
  std::uint64_t system = 0;
};
[[nodiscard]] CpuNanoseconds parse_cpu_usage_all(std::string_view text);

// /proc/swaps has a line below its heading.
[[nodiscard]] bool has_swap(std::string_view swaps);

// Microseconds per 100 ms period, or nothing if the kernel could not hold to it: it takes 1 ms at
// least.
inline constexpr std::uint64_t kCpuPeriodUs = 100'000;
[[nodiscard]] std::optional<std::uint64_t> cpu_quota_us(double cpus);

}  // namespace sallyport
