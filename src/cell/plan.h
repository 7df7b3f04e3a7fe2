// The launch plan: everything a cell will be, worked out and checked before the first namespace
// exists. The launch steps only read it; between clone and exec nothing is allocated and nothing is
// decided.
#pragma once

#include <linux/filter.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "cell/order.h"
#include "cell/process_memory.h"
#include "egress/network_map.h"
#include "kernel/landlock.h"
#include "kernel/mount.h"

namespace sallyport {

// A directory, symlink or small file of the cell's own root.
struct RootEntry {
  enum class Kind { directory, symlink, file } kind;
  std::string path;     // relative to the root
  std::string content;  // of a file; target of a symlink
  mode_t mode = 0644;   // of a file
};

// A tree of the host that is shown in the cell.
struct HostMount {
  std::string source;  // absolute host path without symlinks
  std::string target;  // relative to the cell's root
  Access access = Access::read_only;
  struct stat
      expected{};         // what was there when the plan was made; anything else by then is refused
  Fd idmap;               // shows the owner as the cell's user (root launcher)
  bool grant = false;     // asked for with --read or --write, not part of the system
  int copy = -1;          // --write-mode copy: number of the overlay whose changes are copied back
  bool detached = false;  // a read-only grant inside a writable place: shown through an overlay
  int tree = -1;          // the detached mount, once a launch step made it
  Fd made = {};           // the same, when it was made before
};

struct InputCopy {
  Fd source;
  std::string name;  // relative to /workspace
};

struct ResourceLimit {
  __rlimit_resource resource;
  const char* name;
  rlim_t value;
};

struct LandlockRule {
  std::string path;
  LandlockAccess access;
};

struct Identity {
  uid_t uid;
  gid_t gid;
};

// Who the tool is, inside.
inline constexpr Identity kInside{.uid = 1000, .gid = 1000};

struct Plan {
  bool privileged = false;  // launched by root
  Identity outside{};       // who the tool is on the host: a slot, or the ordinary user
  Identity setup{};  // the same identity as the launch steps see it before the last user namespace
  bool drop_groups_with_helper =
      false;  // newgidmap maps a second gid, which makes setgroups possible

  int shared_root = -1;  // the mount namespace of one that is made already; -1: there is none
  struct stat shared_root_is{};
  std::vector<RootEntry> root_entries;
  std::vector<HostMount> mounts;
  std::vector<InputCopy> inputs;
  std::string scratch_size, scratch_inodes;  // mount options
  std::string scratch_uid, scratch_gid;
  std::string hostname;
  std::string cwd;

  int landlock_abi = 0;
  std::vector<LandlockRule> landlock_rules;
  std::vector<sock_filter> filter;
  std::vector<ResourceLimit> resource_limits;

  std::vector<int> cgroup_entries;  // v1: `tasks` files to write "0" into
  int cgroup_directory = -1;        // v2: for CLONE_INTO_CGROUP

  std::vector<EgressPoint> points;        // where the egress process listens in the cell's network
  std::vector<int> point_sockets;         // room for the name server's and theirs
  std::vector<std::string> placeholders;  // of the network's grants, as EgressChannel takes them
  Fd trust;                               // of an inspected cell: what it trusts, for its root
  std::string trust_place;                // where that is, relative to the root
  Fd java_trust;                          // the same for Java
  std::string java_place;
  bool covers_system_trust = false;  // and in place of the system's own file
  bool observe = false;          // a name server in the cell's network, handed to the supervisor
  bool watch_processes = false;  // no cgroup: the supervisor gets a view of the cell's /proc

  const Order* order = nullptr;  // what init starts
  bool parked = false;           // it waits to be told so, and the order comes with that

  Fd stdin_read, stdout_write, stderr_write;  // the tool's ends; no stdin_read means /dev/null
  Fd connection;                              // a socket for the tool; mostly there is none
  Fd image;    // of a warm interpreter, which the tool gets as the descriptor behind
  Fd control;  // init's end of the socket to the supervisor
  std::vector<int> descriptors;       // all that init keeps, sorted
  ProcessMemory memory;               // of the process that init is a copy of
  std::uint64_t ignored_signals = 0;  // that the process ignores, and the tool should not

  int fail_before = -1;  // tests only: the step that is made to fail
};

}  // namespace sallyport
