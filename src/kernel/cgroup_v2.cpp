// cgroup v2: a cell has one group in the one tree, into which it is born.
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>

#include "kernel/cgroup_host.h"

namespace sallyport {
namespace {

constexpr std::array<const char*, 3> kRequired = {"memory", "pids", "cpu"};
constexpr const char* kRunDelegated = "systemd-run --user --scope -p Delegate=yes -- sallyport …";

struct V2Layout {
  CgroupSupport support;
  V2Parent place;
  std::shared_ptr<const GroupParent>
      base;  // `place`; of Kind::top the directory above, as it may not exist yet
};

bool in_host_cgroup_namespace() {
  constexpr ino_t kInitialNamespace = 0xEFFFFFFB;  // PROC_CGROUP_INIT_INO, fixed in the kernel
  struct stat ns{};
  return ::stat("/proc/self/ns/cgroup", &ns) == 0 && ns.st_ino == kInitialNamespace;
}

// The same tree may be mounted several times; best is the mount through which our own group is
// seen.
std::optional<V2Situation> find_situation(const CgroupHost& host) {
  std::optional<V2Situation> found;
  for (const CgroupMount& mount : host.mounts) {
    if (mount.version != CgroupVersion::v2) continue;
    V2Situation situation{.mount = mount.directory, .own = {}, .named = host.named_parent};
    for (const CgroupMembership& membership : host.memberships)
      if (membership.hierarchy == 0) situation.own = directory_through(mount, membership.path);
    situation.owns_tree = ::geteuid() == 0 && mount.root == "/" && in_host_cgroup_namespace() &&
                          may_write(AT_FDCWD, mount.directory.c_str());
    if (situation.own) return situation;
    if (!found) found = std::move(situation);
  }
  return found;
}

// How an administrator gets `controllers` ("+cpu +io") to where they are missing.
std::string fix_for_missing(const CgroupHost& host, const V2Layout& layout,
                            const std::string& mount, const std::string& controllers) {
  for (const CgroupMembership& membership : host.memberships)
    for (const std::string& name : layout.support.missing)
      if (contains(membership.controllers, name))
        return "boot with systemd.unified_cgroup_hierarchy=1: " + name + " is bound to cgroup v1";
  if (layout.place.kind == V2Parent::Kind::top)
    return "boot a kernel that has them, without cgroup_disable= on its command line";
  if (layout.place.kind != V2Parent::Kind::named && ::geteuid() != 0)
    return "mkdir -p /etc/systemd/system/user@.service.d && printf '[Service]\\nDelegate=cpu io "
           "memory pids\\n' > /etc/systemd/system/user@.service.d/delegate.conf && systemctl "
           "daemon-reload (as root; then log in again)";
  const std::string& directory = layout.place.directory;
  if (directory == mount) return "enable them for this container's group on the host";
  return "echo '" + controllers + "' > " + directory.substr(0, directory.rfind('/')) +
         "/cgroup.subtree_control (as root)";
}

// Fills `controllers` and `missing`; says what to do when something is missing.
void check_controllers(const CgroupHost& host, const std::string& mount, V2Layout& layout) {
  CgroupSupport& support = layout.support;
  const std::string offered = read_at(layout.base->fd.get(), "cgroup.controllers").value_or("");
  std::string names;
  std::string request;
  for (const char* name : kRequired) {
    if (has_word(offered, name)) {
      support.controllers.emplace_back(name);
      continue;
    }
    support.missing.emplace_back(name);
    names.append(" ").append(name);
    request.append(request.empty() ? "+" : " +").append(name);
  }
  if (has_word(offered, "io")) support.controllers.emplace_back("io");
  if (support.missing.empty()) return;
  support.why_not =
      "these cgroup v2 controllers are not offered in " + layout.base->path + ":" + names;
  support.fix = fix_for_missing(host, layout, mount, request);
}

bool enabled_below(const GroupParent& parent) {
  const std::string enabled = read_at(parent.fd.get(), "cgroup.subtree_control").value_or("");
  return std::ranges::all_of(kRequired, [&](const char* name) { return has_word(enabled, name); });
}

// v2 gives controllers to the groups below a group only while it has no processes itself. The
// host's root group, which is the one without a cgroup.type, is exempt.
bool is_occupied(const V2Layout& layout) {
  const int dir = layout.base->fd.get();
  if (enabled_below(*layout.base) || ::faccessat(dir, "cgroup.type", F_OK, 0) != 0) return false;
  const std::vector<pid_t> processes = parse_pids(read_at(dir, "cgroup.procs").value_or(""));
  const auto is_other = [&](pid_t pid) {
    return layout.place.kind == V2Parent::Kind::named || pid != ::getpid();
  };
  return std::ranges::any_of(processes, is_other);
}

void explain_occupied(V2Layout& layout, const std::string& mount) {
  const std::string& directory = layout.place.directory;
  layout.support.why_not = "the cgroup " + directory +
                           " holds other processes, so groups with limits cannot be made below it";
  if (layout.place.kind == V2Parent::Kind::named)
    layout.support.fix = "set SALLYPORT_CGROUP_PARENT to a group without processes";
  else if (directory == mount)
    layout.support.fix = "mkdir -p " + mount + "/rest && for p in $(cat " + mount +
                         "/cgroup.procs); do echo $p > " + mount +
                         "/rest/cgroup.procs; done; export SALLYPORT_CGROUP_PARENT=" + mount;
  else
    layout.support.fix = kRunDelegated;
}

V2Layout survey(const CgroupHost& host) {
  V2Layout layout;
  CgroupSupport& support = layout.support;
  support.version = CgroupVersion::v2;
  const auto situation = find_situation(host);
  if (!situation) {
    support.why_not = "SALLYPORT_CGROUP_PARENT is set, but no cgroup v2 tree is mounted";
    support.fix = "unset SALLYPORT_CGROUP_PARENT";
    return layout;
  }
  auto place = choose_v2_parent(*situation);
  if (!place) {
    support.why_not = std::move(place.error().message);
    support.fix = std::move(place.error().hint);
    return layout;
  }
  layout.place = std::move(*place);
  const std::string& directory = layout.place.directory;
  support.parent = directory;
  const bool top = layout.place.kind == V2Parent::Kind::top;
  layout.base = open_group_parent(top ? situation->mount : directory, CgroupVersion::v2);
  if (!layout.base) {
    support.why_not = "cannot open the cgroup " + directory + ": " + std::strerror(errno);
    support.fix = "mkdir -p " + directory + " (as root), and give it to the user";
    return layout;
  }
  for (const char* file : {".", "cgroup.procs", "cgroup.subtree_control"}) {
    if (may_write(layout.base->fd.get(), file)) continue;
    support.why_not = "the cgroup " + layout.base->path + " is not delegated: its '" + file +
                      "' is not writable by this user";
    support.fix = kRunDelegated;
    return layout;
  }
  check_controllers(host, situation->mount, layout);
  if (!support.missing.empty()) return layout;
  if (is_occupied(layout)) {
    explain_occupied(layout, situation->mount);
    return layout;
  }
  if (situation->own) {
    const std::string shared = common_directory(*situation->own, directory);
    if (!may_write(AT_FDCWD, (shared + "/cgroup.procs").c_str())) {
      support.why_not = "no process may move from " + *situation->own + " to " + directory + ": " +
                        shared + "/cgroup.procs is not writable by this user";
      support.fix = kRunDelegated;
      return layout;
    }
  }
  support.usable = true;
  return layout;
}

// Gives the controllers to the groups below `parent`. `io` too, if it can be had; who asks for an
// I/O limit will hear.
Result<void> enable_below(const GroupParent& parent) {
  constexpr const char* kFile = "cgroup.subtree_control";
  const std::string enabled = read_at(parent.fd.get(), kFile).value_or("");
  std::string request;
  for (const char* name : kRequired)
    if (!has_word(enabled, name)) request.append(request.empty() ? "+" : " +").append(name);
  if (!request.empty())
    if (const int err = write_at(parent.fd.get(), kFile, request))
      return fail(Reason::cannot_enforce, "cannot set " + parent.path + "/" + kFile + " to '" +
                                              request + "': " + std::strerror(err));
  if (!has_word(enabled, "io")) (void)write_at(parent.fd.get(), kFile, "+io");
  return {};
}

class V2Group final : public Cgroup {
 public:
  explicit V2Group(GroupDir dir) : dir_(std::move(dir)) {}
  ~V2Group() override { destroy(*this); }

  Result<void> apply(const CgroupLimits& limits);
  void watch_oom();

  CgroupVersion version() const override { return CgroupVersion::v2; }
  int clone_into_fd() const override { return dir_.fd(); }
  std::span<const int> entry_fds() const override { return {}; }
  int oom_fd() const override { return events_.get(); }
  short oom_poll_events() const override { return POLLPRI; }
  std::uint64_t oom_kills() override;
  std::uint64_t cpu_used_us() override;
  CgroupUsage usage() override;
  void kill() override { dir_.kill(kill_deadline()); }
  bool remove() override {
    events_.reset();
    return dir_.remove();
  }

 private:
  Result<void> forbid_swap() const;
  Result<void> limit_io(const CgroupLimits& limits) const;

  GroupDir dir_;
  Fd events_;
  HighWater peak_memory_{"memory.peak", "memory.current"};
  HighWater peak_processes_{"pids.peak", "pids.current"};
};

Result<void> V2Group::apply(const CgroupLimits& limits) {
  if (auto done = dir_.set("memory.max", std::to_string(limits.memory_bytes)); !done) return done;
  if (auto done = forbid_swap(); !done) return done;
  // A cell that lost one process to memory is over: the kernel takes the rest at once.
  if (auto done = dir_.set("memory.oom.group", "1"); !done) return done;
  if (auto done = dir_.set("pids.max", std::to_string(limits.processes)); !done) return done;
  const std::string quota = std::to_string(cpu_quota_us(limits.cpus).value_or(0));
  if (auto done = dir_.set("cpu.max", quota + " " + std::to_string(kCpuPeriodUs)); !done)
    return done;
  return limit_io(limits);
}

Result<void> V2Group::forbid_swap() const {
  constexpr const char* kFile = "memory.swap.max";
  const int err = write_at(dir_.fd(), kFile, "0");
  if (err == 0) return {};
  // Without swap accounting there is no such file. That is harm only where there is swap.
  if (err == ENOENT && !has_swap(read_at(AT_FDCWD, "/proc/swaps").value_or(""))) return {};
  auto failed = dir_.cannot_set(kFile, "0", err);
  failed.error().hint = "swapoff -a, or boot with swapaccount=1";
  return failed;
}

Result<void> V2Group::limit_io(const CgroupLimits& limits) const {
  if (!limits.io_bytes_per_second) return {};
  if (!has_word(dir_.read("cgroup.controllers").value_or(""), "io"))
    return fail(
        Reason::cannot_enforce,
        "I/O cannot be limited: the cgroup v2 controller io is not offered in " + dir_.path(),
        "delegate it, as in: systemd-run --scope -p 'Delegate=cpu io memory pids' -- …");
  const std::string rate = std::to_string(*limits.io_bytes_per_second);
  for (const dev_t device : limits.io_devices) {
    const auto disk = whole_disk(device);
    if (!disk) return std::unexpected(disk.error());
    if (auto done = dir_.set("io.max", *disk + " rbps=" + rate + " wbps=" + rate); !done)
      return done;
  }
  return {};
}

void V2Group::watch_oom() {
  events_.reset(::openat(dir_.fd(), "memory.events", O_RDONLY | O_CLOEXEC));
  // A file that was never read counts as changed.
  (void)oom_kills();
}

std::uint64_t V2Group::oom_kills() {
  if (!events_) return 0;
  // Through the polled descriptor itself: reading it is what quiets it.
  char text[1024];
  const ssize_t size = ::pread(events_.get(), text, sizeof(text), 0);
  if (size <= 0) return 0;
  return count_of({text, static_cast<std::size_t>(size)}, "oom_kill").value_or(0);
}

std::uint64_t V2Group::cpu_used_us() {
  peak_memory_.sample(dir_);
  peak_processes_.sample(dir_);
  return count_of(dir_.read("cpu.stat").value_or(""), "usage_usec").value_or(0);
}

CgroupUsage V2Group::usage() {
  const std::string cpu = dir_.read("cpu.stat").value_or("");
  const std::string pids = dir_.read("pids.events").value_or("");
  CgroupUsage usage{.cpu_user_us = count_of(cpu, "user_usec").value_or(0),
                    .cpu_system_us = count_of(cpu, "system_usec").value_or(0),
                    .peak_memory_bytes = peak_memory_.read(dir_),
                    .peak_processes = peak_processes_.read(dir_),
                    .read_bytes = {},
                    .write_bytes = {},
                    .oom_kills = oom_kills(),
                    .processes_refused = count_of(pids, "max").value_or(0),
                    .throttled_periods = count_of(cpu, "nr_throttled").value_or(0)};
  if (const auto text = dir_.read("io.stat")) {
    const IoBytes bytes = parse_io_stat(*text);
    usage.read_bytes = bytes.read;
    usage.write_bytes = bytes.write;
  }
  return usage;
}

Result<std::unique_ptr<V2Group>> make_group(std::shared_ptr<const GroupParent> parent,
                                            std::string name) {
  auto dir = GroupDir::make(std::move(parent), std::move(name));
  if (!dir) return std::unexpected(std::move(dir.error()));
  return std::make_unique<V2Group>(std::move(*dir));
}

// The leaf into which we step aside, so that our own group may have groups with controllers below
// it. Steps back at the end: a group that hands down controllers takes no processes, so the next
// command could not be started in it.
class SteppedAside {
 public:
  static Result<SteppedAside> step(const std::shared_ptr<const GroupParent>& own) {
    GroupOwner self = current_process();
    self.self = true;
    auto leaf = GroupDir::make(own, group_name(self, ""));
    if (!leaf) return std::unexpected(std::move(leaf.error()));
    SteppedAside aside(own, std::move(*leaf));
    if (auto done = aside.leaf_->set("cgroup.procs", "0"); !done)
      return std::unexpected(std::move(done.error()));
    if (auto done = enable_below(*own); !done) return std::unexpected(std::move(done.error()));
    return aside;
  }
  SteppedAside(SteppedAside&& other) noexcept
      : own_(std::move(other.own_)), leaf_(std::exchange(other.leaf_, std::nullopt)) {}
  SteppedAside& operator=(SteppedAside&&) = delete;
  ~SteppedAside() {
    if (!leaf_) return;
    // Refused while another group of ours lives; the leaf then stays for the sweep.
    const std::string enabled = read_at(own_->fd.get(), "cgroup.subtree_control").value_or("");
    for (const char* name : {"memory", "pids", "cpu", "io"})
      if (has_word(enabled, name))
        (void)write_at(own_->fd.get(), "cgroup.subtree_control", std::string("-") + name);
    (void)write_at(own_->fd.get(), "cgroup.procs", "0");
    (void)leaf_->remove();
  }

 private:
  SteppedAside(std::shared_ptr<const GroupParent> own, GroupDir leaf)
      : own_(std::move(own)), leaf_(std::move(leaf)) {}
  std::shared_ptr<const GroupParent> own_;
  std::optional<GroupDir> leaf_;
};

class V2Tree final : public CgroupTree {
 public:
  V2Tree(std::shared_ptr<const GroupParent> parent, std::optional<SteppedAside> aside)
      : parent_(std::move(parent)), aside_(std::move(aside)) {}

  Result<std::unique_ptr<Cgroup>> create(std::string name, const CgroupLimits& limits) override {
    auto group = make_group(parent_, std::move(name));
    if (!group) return std::unexpected(std::move(group.error()));
    if (auto done = (*group)->apply(limits); !done) return std::unexpected(std::move(done.error()));
    (*group)->watch_oom();
    return std::move(*group);
  }

  void sweep() override { sweep_group_parent(parent_); }

 private:
  std::shared_ptr<const GroupParent> parent_;
  std::optional<SteppedAside> aside_;
};

// <mount>/sallyport, with the controllers handed down to it and through it. It stays: other
// Sallyports use it.
Result<std::shared_ptr<const GroupParent>> prepare_top(const V2Layout& layout) {
  if (auto done = enable_below(*layout.base); !done)
    return std::unexpected(std::move(done.error()));
  constexpr mode_t kMode = 0755;
  const std::string& directory = layout.place.directory;
  if (::mkdir(directory.c_str(), kMode) != 0 && errno != EEXIST)
    return fail(Reason::cannot_enforce,
                "cannot make the cgroup " + directory + ": " + std::strerror(errno));
  auto parent = open_group_parent(directory, CgroupVersion::v2);
  if (!parent)
    return fail(Reason::cannot_enforce,
                "cannot open the cgroup " + directory + ": " + std::strerror(errno));
  if (auto done = enable_below(*parent); !done) return std::unexpected(std::move(done.error()));
  return parent;
}

}  // namespace

CgroupSupport probe_cgroup_v2(const CgroupHost& host) {
  return survey(host).support;
}

Result<std::unique_ptr<CgroupTree>> open_cgroup_v2(const CgroupHost& host) {
  V2Layout layout = survey(host);
  if (!layout.support.usable)
    return fail(Reason::cannot_enforce, layout.support.why_not, layout.support.fix);
  std::shared_ptr<const GroupParent> parent = layout.base;
  std::optional<SteppedAside> aside;
  Result<void> done;
  switch (layout.place.kind) {
    case V2Parent::Kind::top: {
      auto prepared = prepare_top(layout);
      if (!prepared) return std::unexpected(std::move(prepared.error()));
      parent = std::move(*prepared);
      break;
    }
    case V2Parent::Kind::own: {
      auto stepped = SteppedAside::step(parent);
      if (!stepped) return std::unexpected(std::move(stepped.error()));
      aside.emplace(std::move(*stepped));
      break;
    }
    case V2Parent::Kind::named:
    case V2Parent::Kind::beside:
      done = enable_below(*parent);
      break;
  }
  if (!done) return std::unexpected(std::move(done.error()));
  return std::make_unique<V2Tree>(std::move(parent), std::move(aside));
}

Result<std::unique_ptr<Cgroup>> make_bare_group_v2(std::shared_ptr<const GroupParent> parent,
                                                   std::string name) {
  return make_group(std::move(parent), std::move(name));
}

}  // namespace sallyport
