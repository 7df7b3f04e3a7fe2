#include "cell/root_build.h"

#include <fcntl.h>
#include <sys/mount.h>

#include <charconv>
#include <cstring>
#include <utility>

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

Sys<void> mask(const char* cover, const char* target) {
  // What this kernel does not have needs no cover.
  const auto covered = bind(cover, target);
  if (!covered) return std::unexpected(covered.error());
  return {};
}

// Owners are compared only where they mean the same on both sides: a launcher's user namespace
// shows others as nobody.
bool is_same_file(const struct stat& now, const struct stat& then, bool same_owner) {
  return now.st_dev == then.st_dev && now.st_ino == then.st_ino && now.st_rdev == then.st_rdev &&
         (now.st_mode & S_IFMT) == (then.st_mode & S_IFMT) &&
         (!same_owner || (now.st_uid == then.st_uid && now.st_gid == then.st_gid));
}

Sys<void> put_file(int root, const RootEntry& entry) {
  const char* path = entry.path.c_str();
  Fd file(::openat(root, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, entry.mode));
  if (!file) return sys_fail("openat", path);
  const auto size = static_cast<ssize_t>(entry.content.size());
  if (::write(file.get(), entry.content.data(), entry.content.size()) != size)
    return sys_fail("write", path);
  return {};
}

}  // namespace

Sys<Fd> make_root_filesystem() {
  const MountOption options[] = {{"size", "4m"}, {"nr_inodes", "4096"}, {"mode", "0755"}};
  return make_filesystem("tmpfs", options, Access::read_write);
}

Sys<void> put_entries(int root, std::span<const RootEntry> entries) {
  for (const RootEntry& entry : entries) {
    const char* path = entry.path.c_str();
    switch (entry.kind) {
      case RootEntry::Kind::directory:
        if (::mkdirat(root, path, 0755) != 0) return sys_fail("mkdirat", path);
        break;
      case RootEntry::Kind::symlink:
        if (::symlinkat(entry.content.c_str(), root, path) != 0) return sys_fail("symlinkat", path);
        break;
      case RootEntry::Kind::file:
        if (auto done = put_file(root, entry); !done) return done;
        break;
    }
  }
  return {};
}

Sys<void> clone_mounts(std::span<HostMount> mounts, bool same_owner) {
  for (HostMount& mount : mounts) {
    if (mount.made) {
      mount.tree = mount.made.release();
      continue;
    }
    const char* path = mount.source.c_str();
    auto source = open_mount_source(path);
    if (!source) return std::unexpected(source.error());
    struct stat now{};
    if (::fstat(source->get(), &now) != 0) return sys_fail("fstat", path);
    if (!is_same_file(now, mount.expected, same_owner)) return sys_fail("fstat", path, ESTALE);
    const Access access = mount.copy >= 0 ? Access::read_only : mount.access;
    auto tree = clone_tree(source->get(), path, access, mount.idmap.get());
    if (!tree) return std::unexpected(tree.error());
    mount.tree = tree->release();
    mount.idmap.reset();
  }
  return {};
}

Sys<void> attach_system_mounts(std::span<HostMount> mounts, int root) {
  for (HostMount& mount : mounts) {
    if (mount.grant) continue;
    const Fd tree(std::exchange(mount.tree, -1));
    if (auto done = attach(tree.get(), root, mount.target.c_str()); !done) return done;
  }
  return {};
}

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
  for (const char* target : kMaskedFiles)
    if (auto done = mask("dev/null", target); !done) return done;
  Fd run(::openat(root, "run", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!run) return sys_fail("openat", "run");
  auto empty = clone_tree(run.get(), "run", Access::read_only);
  if (!empty) return std::unexpected(empty.error());
  if (auto done = attach(empty->get(), root, "proc/fs"); !done) return done;
  for (const char* target : kMaskedDirectories)
    if (auto done = mask("proc/fs", target); !done) return done;
  return {};
}

void copy_directory_name(int number, char (&name)[16]) {
  std::memcpy(name, "copy", 4);
  *std::to_chars(name + 4, name + sizeof(name) - 1, number).ptr = '\0';
}

namespace {

// A directory of the scratch in which an overlay is put together. Its parts are named by path,
// because overlayfs takes paths; by now / is the cell's own root.
class OverlayStage {
 public:
  static Sys<OverlayStage> make(Launch& launch, const char* name) {
    OverlayStage stage;
    stage.name_ = name;
    if (::mkdirat(launch.scratch.get(), name, 0700) != 0) return sys_fail("mkdirat", name);
    stage.directory_ = Fd(::openat(launch.scratch.get(), name, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!stage.directory_) return sys_fail("openat", name);
    return stage;
  }

  Sys<void> add(const char* part, const Identity& owner, mode_t mode) {
    if (::mkdirat(directory_.get(), part, mode) != 0) return sys_fail("mkdirat", part);
    if (::fchownat(directory_.get(), part, owner.uid, owner.gid, AT_SYMLINK_NOFOLLOW) != 0)
      return sys_fail("fchownat", part);
    return {};
  }

  // "/.scratch/NAME/PART", appended to `text`; returns its end.
  char* path(char* text, const char* part) const {
    for (const char* piece : {"/", kScratch, "/", name_, "/", part})
      text = ::stpcpy(text, piece);
    return text;
  }

  Sys<void> attach_lower(int tree, const Launch& launch) const {
    char target[64];
    path(target, "lower");
    return attach(tree, launch.root.get(), target + 1);
  }

 private:
  const char* name_ = nullptr;
  Fd directory_;
};

}  // namespace

Sys<Fd> make_copy_overlay(Launch& launch, const HostMount& mount, int lower) {
  const Identity& owner = launch.plan.setup;
  char name[16];
  copy_directory_name(mount.copy, name);
  auto stage = OverlayStage::make(launch, name);
  if (!stage) return std::unexpected(stage.error());
  // The merged root takes owner and mode from the upper directory.
  const mode_t mode = mount.expected.st_mode & 0777;
  if (auto done = stage->add("lower", owner, 0700); !done) return std::unexpected(done.error());
  if (auto done = stage->add("upper", owner, mode); !done) return std::unexpected(done.error());
  if (auto done = stage->add("work", owner, 0700); !done) return std::unexpected(done.error());
  if (auto done = stage->attach_lower(lower, launch); !done) return std::unexpected(done.error());

  char lower_path[64], upper_path[64], work_path[64];
  stage->path(lower_path, "lower");
  stage->path(upper_path, "upper");
  stage->path(work_path, "work");
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

Sys<Fd> make_detached_view(Launch& launch, int number, int lower) {
  const Identity& owner = launch.plan.setup;
  char name[16] = "view";
  *std::to_chars(name + 4, name + sizeof(name) - 1, number).ptr = '\0';
  auto stage = OverlayStage::make(launch, name);
  if (!stage) return std::unexpected(stage.error());
  if (auto done = stage->add("lower", owner, 0700); !done) return std::unexpected(done.error());
  if (auto done = stage->add("empty", owner, 0700); !done) return std::unexpected(done.error());
  if (auto done = stage->attach_lower(lower, launch); !done) return std::unexpected(done.error());

  // An overlay without an upper directory wants two lower ones.
  char layers[128];
  char* end = stage->path(layers, "lower");
  *end++ = ':';
  stage->path(end, "empty");
  const MountOption options[] = {
      {"lowerdir", layers}, {"redirect_dir", "nofollow"}, {"metacopy", "off"}};
  return make_filesystem("overlay", options, Access::read_only);
}

}  // namespace sallyport
