#include "kernel/mount.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "kernel/syscalls.h"

namespace sallyport {
namespace {

std::uint64_t attributes(Access access) {
  switch (access) {
    case Access::read_only:
      return MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_RDONLY;
    case Access::read_write:
      return MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
    case Access::read_only_proc:
      return MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC | MOUNT_ATTR_RDONLY;
    case Access::device_node:
      return MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC | MOUNT_ATTR_RDONLY;
  }
  __builtin_unreachable();
}

Sys<void> set_attributes(int mount, unsigned flags, mount_attr attr, const char* path) {
  if (::mount_setattr(mount, "", AT_EMPTY_PATH | flags, &attr, sizeof(attr)) != 0)
    return sys_fail("mount_setattr", path);
  return {};
}

}  // namespace

Sys<Fd> make_filesystem(const char* type, std::span<const MountOption> options, Access access) {
  Fd context(::fsopen(type, FSOPEN_CLOEXEC));
  if (!context) return sys_fail("fsopen", type);
  for (const MountOption& option : options) {
    const auto kind = option.value == nullptr ? FSCONFIG_SET_FLAG : FSCONFIG_SET_STRING;
    if (::fsconfig(context.get(), kind, option.key, option.value, 0) != 0)
      return sys_fail("fsconfig", option.key);
  }
  if (::fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0)
    return sys_fail("fsconfig", type);
  Fd mount(::fsmount(context.get(), FSMOUNT_CLOEXEC, static_cast<unsigned>(attributes(access))));
  if (!mount) return sys_fail("fsmount", type);
  return mount;
}

Sys<Fd> open_mount_source(const char* path) {
  Fd source(sys::openat2(AT_FDCWD, path, O_PATH | O_CLOEXEC,
                         RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS));
  if (!source) return sys_fail("openat2", path);
  return source;
}

Sys<Fd> clone_tree(int source, const char* path, Access access, int idmap_userns) {
  Fd tree(
      ::open_tree(source, "", AT_EMPTY_PATH | AT_RECURSIVE | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
  if (!tree) return sys_fail("open_tree", path);
  struct statfs before{};
  if (::fstatfs(tree.get(), &before) != 0) return sys_fail("fstatfs", path);
  // What the host itself mounted read-only stays so: root could lift that flag on its own copy of
  // the mount.
  if (access == Access::read_write && (before.f_flags & ST_RDONLY) != 0)
    return sys_fail("open_tree", path, EROFS);
  // Read-only everywhere first; write access is then given to the top mount alone, so that a
  // production volume mounted somewhere below a writable directory does not become writable with
  // it.
  const Access everywhere = access == Access::read_write ? Access::read_only : access;
  mount_attr attr{
      .attr_set = attributes(everywhere), .attr_clr = 0, .propagation = MS_PRIVATE, .userns_fd = 0};
  if (idmap_userns >= 0) {
    attr.attr_set |= MOUNT_ATTR_IDMAP;
    attr.userns_fd = static_cast<std::uint64_t>(idmap_userns);
  }
  if (auto done = set_attributes(tree.get(), AT_RECURSIVE, attr, path); !done)
    return std::unexpected(done.error());
  if (access == Access::read_write) {
    mount_attr writable{
        .attr_set = 0, .attr_clr = MOUNT_ATTR_RDONLY, .propagation = 0, .userns_fd = 0};
    if (auto done = set_attributes(tree.get(), 0, writable, path); !done)
      return std::unexpected(done.error());
  }
  return tree;
}

Sys<void> set_access(int mount, const char* path, Access access) {
  return set_attributes(
      mount, 0, {.attr_set = attributes(access), .attr_clr = 0, .propagation = 0, .userns_fd = 0},
      path);
}

Sys<Fd> copy_mount(int mount, const char* name) {
  Fd tree(::open_tree(mount, name, AT_SYMLINK_NOFOLLOW | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
  if (!tree) return sys_fail("open_tree", name);
  return tree;
}

Sys<void> attach(int mount, int root, const char* target) {
  const Fd point(sys::openat2(root, target, O_PATH | O_CLOEXEC,
                              RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS));
  if (!point) return sys_fail("openat2", target);
  if (::move_mount(mount, "", point.get(), "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) !=
      0)
    return sys_fail("move_mount", target);
  return {};
}

Sys<bool> bind(const char* source, const char* target) {
  if (::mount(source, target, nullptr, MS_BIND, nullptr) == 0) return true;
  const int err = errno;
  // It could be the source that is missing.
  if (err == ENOENT && ::faccessat(AT_FDCWD, target, F_OK, AT_SYMLINK_NOFOLLOW) != 0 &&
      errno == ENOENT)
    return false;
  return sys_fail("mount", target, err);
}

Sys<void> replace_root(int root) {
  mount_attr attr{.attr_set = 0, .attr_clr = 0, .propagation = MS_PRIVATE, .userns_fd = 0};
  if (::mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &attr, sizeof(attr)) != 0)
    return sys_fail("mount_setattr", "/");
  // On top of "/" itself: no directory of the host is needed as a mount point.
  if (::move_mount(root, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) != 0)
    return sys_fail("move_mount", "/");
  if (::fchdir(root) != 0) return sys_fail("fchdir", "/");
  if (sys::pivot_root(".", ".") != 0) return sys_fail("pivot_root", "/");
  // After the pivot the old root lies on top of the new one; without it no path of the host is
  // left.
  if (::umount2(".", MNT_DETACH) != 0) return sys_fail("umount2", "/");
  if (::chdir("/") != 0) return sys_fail("chdir", "/");
  return {};
}

}  // namespace sallyport
