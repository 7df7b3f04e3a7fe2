#include "cell/root_build.h"

#include <fcntl.h>
#include <sys/mount.h>

#include <charconv>
#include <cstring>

namespace sallyport {
namespace {

// Directories of /proc that describe the host's hardware and file systems rather than the cell's
// processes.
constexpr const char* kMaskedDirectories[] = {
    "proc/acpi", "proc/asound", "proc/bus", "proc/driver", "proc/irq", "proc/scsi",
};

// Files of /proc that leak the host's keys, addresses, boot line, timing or file locks (a live
// cell's uid is a locked byte), or that act when written.
constexpr const char* kMaskedFiles[] = {
    "proc/cmdline",    "proc/diskstats",   "proc/interrupts",    "proc/kallsyms",   "proc/kcore",
    "proc/key-users",  "proc/keys",        "proc/latency_stats", "proc/locks",      "proc/modules",
    "proc/partitions", "proc/sched_debug", "proc/sysrq-trigger", "proc/timer_list",
};

// One path component at a time, so that each is opened without following anything.
class Components {
 public:
  explicit Components(const char* path) : rest_(path) {}
  // Copies the next component; false at the end, or when it does not fit.
  bool next(char (&name)[256]) {
    while (*rest_ == '/')
      ++rest_;
    const std::size_t size = std::strcspn(rest_, "/");
    if (size == 0 || size >= sizeof(name)) return false;
    std::memcpy(name, rest_, size);
    name[size] = '\0';
    rest_ += size;
    return true;
  }
  [[nodiscard]] bool last() const { return rest_[std::strspn(rest_, "/")] == '\0'; }

 private:
  const char* rest_;
};

Sys<dev_t> device_of(int fd, const char* path) {
  struct stat status{};
  if (::fstat(fd, &status) != 0) return sys_fail("fstat", path);
  return status.st_dev;
}

Sys<Fd> open_directory(int parent, const char* name, const char* path) {
  Fd directory(::openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory) return sys_fail("openat", path);
  return directory;
}

Sys<void> mask(int root, int cover, const char* target) {
  auto point = open_mount_point(root, target);
  if (!point) {
    // What this kernel does not have needs no cover.
    if (point.error().err == ENOENT) return {};
    return std::unexpected(point.error());
  }
  auto copy = copy_mount(cover, target);
  if (!copy) return std::unexpected(copy.error());
  return attach_at(copy->get(), point->get(), target);
}

}  // namespace

Sys<void> make_parents(int directory, const char* path, Identity owner) {
  Components components(path);
  char name[256];
  Fd held;
  int current = directory;
  while (components.next(name) && !components.last()) {
    if (::mkdirat(current, name, 0755) == 0) {
      if (::fchownat(current, name, owner.uid, owner.gid, AT_SYMLINK_NOFOLLOW) != 0)
        return sys_fail("fchownat", path);
    } else if (errno != EEXIST) {
      return sys_fail("mkdirat", path);
    }
    auto next = open_directory(current, name, path);
    if (!next) return std::unexpected(next.error());
    held = std::move(*next);
    current = held.get();
  }
  return {};
}

Sys<void> make_mount_point(Launch& launch, const char* target, bool directory) {
  const auto root_device = device_of(launch.root.get(), "/");
  const auto scratch_device = device_of(launch.scratch.get(), kScratch);
  if (!root_device) return std::unexpected(root_device.error());
  if (!scratch_device) return std::unexpected(scratch_device.error());

  Components components(target);
  char name[256];
  Fd held;
  int current = launch.root.get();
  while (components.next(name)) {
    const bool wants_directory = directory || !components.last();
    struct stat there{};
    if (::fstatat(current, name, &there, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno != ENOENT) return sys_fail("fstatat", target);
      const auto device = device_of(current, target);
      if (!device) return std::unexpected(device.error());
      if (*device != *root_device && *device != *scratch_device)
        return sys_fail("make_mount_point", target, ENOENT);
      if (wants_directory) {
        if (::mkdirat(current, name, 0755) != 0) return sys_fail("mkdirat", target);
      } else {
        Fd file(::openat(current, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
        if (!file) return sys_fail("openat", target);
      }
      if (*device == *scratch_device && ::fchownat(current, name, launch.plan.setup.uid,
                                                   launch.plan.setup.gid, AT_SYMLINK_NOFOLLOW) != 0)
        return sys_fail("fchownat", target);
    }
    if (!wants_directory) break;
    auto next = open_directory(current, name, target);
    if (!next) return std::unexpected(next.error());
    held = std::move(*next);
    current = held.get();
  }
  return {};
}

Sys<void> attach_masked_proc(Launch& launch) {
  const int root = launch.root.get();
  if (auto done = attach(launch.proc.get(), root, "proc"); !done) return done;
  if (launch.plan.watch_processes)
    launch.watched_proc = std::move(launch.proc);
  else
    launch.proc.reset();
  // The covers: the read-only /dev/null that is attached already, and an empty read-only directory.
  Fd null(::openat(root, "dev/null", O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!null) return sys_fail("openat", "dev/null");
  for (const char* target : kMaskedFiles)
    if (auto done = mask(root, null.get(), target); !done) return done;
  Fd run(::openat(root, "run", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!run) return sys_fail("openat", "run");
  auto empty = clone_tree(run.get(), "run", Access::read_only);
  if (!empty) return std::unexpected(empty.error());
  if (auto done = attach(empty->get(), root, "proc/fs"); !done) return done;
  for (const char* target : kMaskedDirectories)
    if (auto done = mask(root, empty->get(), target); !done) return done;
  return {};
}

void copy_directory_name(int number, char (&name)[16]) {
  std::memcpy(name, "copy", 4);
  *std::to_chars(name + 4, name + sizeof(name) - 1, number).ptr = '\0';
}

Sys<Fd> make_copy_overlay(Launch& launch, const HostMount& mount, int lower) {
  const Identity& owner = launch.plan.setup;
  const char* path = mount.source.c_str();
  char name[16];
  copy_directory_name(mount.copy, name);
  if (::mkdirat(launch.scratch.get(), name, 0700) != 0) return sys_fail("mkdirat", path);
  Fd directory(::openat(launch.scratch.get(), name, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return sys_fail("openat", path);
  for (const char* part : {"lower", "upper", "work"}) {
    if (::mkdirat(directory.get(), part, 0700) != 0) return sys_fail("mkdirat", path);
    if (::fchownat(directory.get(), part, owner.uid, owner.gid, AT_SYMLINK_NOFOLLOW) != 0)
      return sys_fail("fchownat", path);
  }
  // The merged root takes owner and mode from the upper directory.
  if (::fchmodat(directory.get(), "upper", mount.expected.st_mode & 0777, 0) != 0)
    return sys_fail("fchmodat", path);

  // "/.scratch/copyN/lower" and so on; overlayfs takes paths, and / is the cell's own root by now.
  const auto part_path = [&](char(&text)[64], const char* part) {
    char* end = text;
    for (const char* piece : {"/", kScratch, "/", static_cast<const char*>(name), "/", part})
      end = ::stpcpy(end, piece);
  };
  char lower_path[64], upper_path[64], work_path[64];
  part_path(lower_path, "lower");
  part_path(upper_path, "upper");
  part_path(work_path, "work");
  if (auto done = attach(lower, launch.root.get(), lower_path + 1); !done)
    return std::unexpected(done.error());

  const MountOption options[] = {{"lowerdir", lower_path},
                                 {"upperdir", upper_path},
                                 {"workdir", work_path},
                                 {"redirect_dir", "nofollow"},
                                 {"metacopy", "off"},
                                 {"index", "off"},
                                 {"userxattr"}};
  // Root keeps overlayfs's marks in trusted.*, which the tool cannot forge; without root only
  // user.* can be had.
  const std::size_t count = std::size(options) - (launch.plan.privileged ? 1 : 0);
  return make_filesystem("overlay", std::span(options, count), Access::read_write);
}

}  // namespace sallyport
