// Mounts by file descriptor, with the new mount API: a tree is cloned or made detached, given its
// attributes, and only then attached, so there is no moment in which it is visible with weaker
// ones. Nothing here allocates.
#pragma once

#include <cstdint>
#include <span>

#include "base/error.h"
#include "base/fd.h"

namespace sallyport {

// Options of a new file system, e.g. {"size", "104857600"}; a flag has no value.
struct MountOption {
  const char* key;
  const char* value = nullptr;
};

// Attributes beside nosuid, which every mount of a cell has.
enum class Access : std::uint8_t {
  read_only,
  read_write,      // the tree's own mount only: a mount nested below it stays read-only
  read_only_proc,  // read-only and noexec
  device_node,     // a single device file: the one kind of mount that is not nodev
};

// A new, detached instance of a file system. `access` applies from the start.
Sys<Fd> make_filesystem(const char* type, std::span<const MountOption> options, Access access);

// Opens a host path for mounting. A symlink anywhere in it is refused (ELOOP): whoever can write
// one component of the path would otherwise choose what is mounted.
Sys<Fd> open_mount_source(const char* path);

// A detached copy of the tree at `source`, submounts included, with private propagation.
// `idmap_userns` >= 0 maps owners through that user namespace (needs privileges over the file
// system).
Sys<Fd> clone_tree(int source, const char* path, Access access, int idmap_userns = -1);

// A detached copy of one mount that is attached already, attributes and all, as seen from the
// directory `name` in it.
Sys<Fd> copy_mount(int mount, const char* name);

// Changes an existing mount to `access`.
Sys<void> set_access(int mount, const char* path, Access access);

// Attaches `mount` at `target`, a path below the directory `root` that may contain no symlink.
Sys<void> attach(int mount, int root, const char* target);

// Shows the mount at `source` at `target`, too, attributes and all, in one call where a copy would
// take five. It follows symlinks: only for names in a root of our own that nobody else has seen
// yet. False: there is no `target`.
Sys<bool> bind(const char* source, const char* target);

// Makes the tmpfs `root` the root directory and lets go of everything that was mounted before.
Sys<void> replace_root(int root);

}  // namespace sallyport
