// What a host gives to the process that asks: looked at and tried, not judged.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "cell/doctor_text.h"
#include "cell/launcher.h"
#include "kernel/cgroup.h"

namespace sallyport {

// A try to map the owners of a mount, as `--write` needs it from root.
struct IdmapTrial {
  std::string path;
  std::string filesystem;  // its type, as in mountinfo
  int err = 0;             // 0: it worked
};

struct HostFacts {
  // Who asks.
  uid_t uid = 0;
  std::string user;        // the name in /etc/passwd, or the number
  std::string executable;  // the real path of this program
  Result<Launcher> launcher = Launcher{};

  // The system.
  Distribution distribution;
  std::string kernel;  // uname -r
  int landlock_abi = 0;
  std::optional<std::vector<std::string>> lsms;  // nothing: securityfs cannot be read
  bool user_notification = true;                 // seccomp's
  bool overlay = true;
  std::uint64_t swap_kib = 0;
  int kvm_err = 0;  // of opening /dev/kvm

  // User namespaces. The settings are nothing where the kernel does not have them.
  int user_namespace_err = 0;  // of making one that has its capabilities
  std::optional<std::uint64_t> max_user_namespaces;
  std::optional<std::uint64_t> unprivileged_userns_clone;
  std::optional<std::uint64_t> apparmor_restricts_userns;

  // What a container or a service manager holds this process to.
  std::string container;                   // "docker", "podman", or nothing seen
  std::vector<std::string> refused_calls;  // by a seccomp filter
  std::optional<std::string> apparmor_profile;
  ProcView proc;
  bool cgroups_read_only = false;

  CgroupSupport cgroups;
  bool newgidmap = false;
  bool has_subordinate_gid = false;
  std::uint64_t free_subordinate_gid = 0;
  std::vector<IdmapTrial> idmaps;  // of the current directory and /tmp; only root can try

  bool cell_works = true;  // filled in by who tried one

  [[nodiscard]] bool privileged() const { return launcher && launcher->privileged; }
  [[nodiscard]] bool lists_landlock() const {
    return lsms && std::ranges::find(*lsms, "landlock") != lsms->end();
  }
};

// Looks, tries in short-lived children, and changes nothing.
[[nodiscard]] HostFacts read_host_facts();

}  // namespace sallyport
