// What the system's text files say about a host, as values. Pure functions: nothing here opens a
// file. Lines that make no sense are passed over, never guessed at.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sallyport {

// The first two numbers of `uname -r`.
struct KernelVersion {
  unsigned first = 0, second = 0;
  friend auto operator<=>(const KernelVersion&, const KernelVersion&) = default;
};
[[nodiscard]] std::optional<KernelVersion> parse_kernel_version(std::string_view release);

// /etc/os-release.
struct Distribution {
  std::string id;       // "debian"
  std::string version;  // "12"; empty on rolling releases
  std::string name;     // "Debian GNU/Linux 12 (bookworm)"
};
[[nodiscard]] Distribution parse_os_release(std::string_view text);

// Whether it is one of those that Sallyport is tested on.
[[nodiscard]] bool is_tested(const Distribution& distribution);

// "lockdown,capability,landlock\n" of /sys/kernel/security/lsm.
[[nodiscard]] std::vector<std::string> parse_lsm_list(std::string_view text);

// One line of /proc/self/mountinfo. Paths are as the kernel writes them, blanks escaped.
struct MountLine {
  std::uint64_t id = 0, parent = 0;
  std::string root, point, type;
  bool read_only = false;
};
[[nodiscard]] std::vector<MountLine> parse_mountinfo(std::string_view text);

// Whether a user namespace may mount a /proc of its own. The kernel allows it only where a whole
// one can be seen already: a mount over any part of it, such as containers make, is a lock.
struct ProcView {
  bool whole = false;
  std::vector<std::string> covered;  // mount points over the /proc at "/proc"
};
[[nodiscard]] ProcView see_proc(const std::vector<MountLine>& mounts);

// True when cgroup file systems are mounted and every one of them is read-only.
[[nodiscard]] bool cgroups_are_read_only(const std::vector<MountLine>& mounts);

// The AppArmor profile that holds a process, read from /proc/self/attr/apparmor/current; nothing
// when it is unconfined or only watched.
[[nodiscard]] std::optional<std::string> enforced_profile(std::string_view label);

// Whether /proc/filesystems lists `type`.
[[nodiscard]] bool lists_filesystem(std::string_view filesystems, std::string_view type);

// The size of all swap areas in /proc/swaps.
[[nodiscard]] std::uint64_t swap_kib(std::string_view swaps);

// The first id behind all ranges of an /etc/subgid, where a new range may begin.
[[nodiscard]] std::uint64_t free_subordinate_id(std::string_view subgid);

}  // namespace sallyport
