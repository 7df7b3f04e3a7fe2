// The parts of the launch that build inside the new root: mount points, the masked /proc, the
// overlay of copy mode. Run after the host's mounts are gone; nothing here allocates.
#pragma once

#include <span>

#include "cell/steps.h"

namespace sallyport {

// The tmpfs that a root is built in, attached nowhere yet.
Sys<Fd> make_root_filesystem();

// Makes the entries below `root`.
Sys<void> put_entries(int root, std::span<const RootEntry> entries);

// Clones the host's tree of each mount into its `tree`. `same_owner`: owners mean the same here as
// when the plan was made, and are compared, too.
Sys<void> clone_mounts(std::span<HostMount> mounts, bool same_owner);

// Attaches those that are part of the system, not granted.
Sys<void> attach_system_mounts(std::span<HostMount> mounts, int root);

// Where the scratch is attached, relative to the root, while its parts are bound to their places.
inline constexpr const char* kScratch = ".scratch";

// Makes the directories that lead to `path` below `directory`, owned by `owner`.
Sys<void> make_parents(int directory, const char* path, Identity owner);

// Makes sure that `target` exists as a place to mount on. Missing parts are made only in the cell's
// own tmpfs: a mount point is never created in a tree of the host, where a symlink planted by an
// earlier run could lead it elsewhere.
Sys<void> make_mount_point(Launch& launch, const char* target, bool directory);

// Attaches the cell's /proc and covers what says too much about the host.
Sys<void> attach_masked_proc(Launch& launch);

// An overlay that takes all writes meant for `mount` into the scratch. `lower` is the read-only
// tree of the host.
Sys<Fd> make_copy_overlay(Launch& launch, const HostMount& mount, int lower);

// A read-only view of the host's tree `lower` whose FIFOs, sockets and locks are not the host's: in
// an overlay they are objects of its own. For a grant inside a place that the tool may write, where
// Landlock, whose rules only add up, would let it write to a FIFO of the host.
Sys<Fd> make_detached_view(Launch& launch, int number, int lower);

// Name of the directory in the scratch that holds copy number N; the overlay's upper directory is
// "upper" in it.
void copy_directory_name(int number, char (&name)[16]);

}  // namespace sallyport
