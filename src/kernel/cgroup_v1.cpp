// cgroup v1: a cell has one group in each of several hierarchies, all made below our own group
// there.
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>

#include "kernel/cgroup_host.h"

namespace sallyport {
namespace {

// `blkio` comes last: it is the one that a cell can do without, unless an I/O limit is asked for.
enum Controller : std::size_t { memory, pids, cpu, cpuacct, blkio, kControllerCount };
constexpr std::array<const char*, kControllerCount> kNames = {"memory", "pids", "cpu", "cpuacct",
                                                              "blkio"};
constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

struct V1Layout {
  CgroupSupport support;
  std::vector<std::shared_ptr<const GroupParent>> parents;  // one per hierarchy
  std::array<std::size_t, kControllerCount> parent_of{};    // by controller, an index or kNowhere
};

std::string mount_command(std::string_view controller) {
  const std::string point = "/sys/fs/cgroup/" + std::string(controller);
  return "mkdir -p " + point + " && mount -t cgroup -o " + std::string(controller) + " cgroup " +
         point;
}

// Our own group's directory in the hierarchy of `controller`; empty when it is not mounted where we
// see it.
std::shared_ptr<const GroupParent> find_parent(const CgroupHost& host, const char* controller) {
  for (const CgroupMembership& membership : host.memberships) {
    if (!contains(membership.controllers, controller)) continue;
    for (const CgroupMount& mount : host.mounts) {
      if (!contains(mount.controllers, controller)) continue;
      auto directory = directory_through(mount, membership.path);
      if (!directory) continue;
      if (auto parent = open_group_parent(std::move(*directory), CgroupVersion::v1)) return parent;
    }
  }
  return nullptr;
}

V1Layout survey(const CgroupHost& host) {
  V1Layout layout;
  CgroupSupport& support = layout.support;
  support.version = CgroupVersion::v1;
  std::string unwritable;
  for (std::size_t i = 0; i < kControllerCount; ++i) {
    layout.parent_of[i] = kNowhere;
    const bool required = i != blkio;
    auto parent = find_parent(host, kNames[i]);
    const bool writable = parent && may_write(parent->fd.get(), ".");
    if (!parent && required) {
      support.missing.emplace_back(kNames[i]);
      support.fix.append(support.fix.empty() ? "" : "; ").append(mount_command(kNames[i]));
    }
    if (parent && !writable && required && unwritable.empty()) unwritable = parent->path;
    if (!writable) continue;
    support.controllers.emplace_back(kNames[i]);
    // Controllers that are mounted together share one directory, and so one group.
    const auto same = std::ranges::find(layout.parents, parent->path,
                                        [](const auto& known) { return known->path; });
    layout.parent_of[i] = static_cast<std::size_t>(same - layout.parents.begin());
    if (same == layout.parents.end()) layout.parents.push_back(std::move(parent));
  }
  if (layout.parent_of[memory] != kNowhere)
    support.parent = layout.parents[layout.parent_of[memory]]->path;
  if (!support.missing.empty()) {
    support.why_not =
        "these cgroup v1 controllers are not mounted where this process sees its own group:";
    for (const std::string& name : support.missing)
      support.why_not.append(" ").append(name);
  } else if (!unwritable.empty()) {
    support.why_not = "the cgroup v1 directory " + unwritable + " is not writable by this user";
    support.fix =
        "run sallyport as root, or boot with systemd.unified_cgroup_hierarchy=1: only cgroup v2 "
        "lets an ordinary user have groups";
  }
  support.usable = support.why_not.empty();
  return layout;
}

class V1Group final : public Cgroup {
 public:
  explicit V1Group(std::array<std::size_t, kControllerCount> index) : index_(index) {}
  ~V1Group() override { destroy(*this); }

  Result<void> make(const std::vector<std::shared_ptr<const GroupParent>>& parents,
                    const std::string& name);
  Result<void> apply(const CgroupLimits& limits);
  Result<void> open_entries();
  void watch_oom();

  CgroupVersion version() const override { return CgroupVersion::v1; }
  int clone_into_fd() const override { return -1; }
  std::span<const int> entry_fds() const override { return entry_fds_; }
  int oom_fd() const override { return oom_.get(); }
  short oom_poll_events() const override { return POLLIN; }
  std::uint64_t oom_kills() override;
  std::uint64_t cpu_used_us() override;
  CgroupUsage usage() override;
  CgroupUsage usage_so_far() override;
  void kill() override;
  bool remove() override;

 private:
  static constexpr std::uint64_t kNsPerUs = 1000;
  static constexpr const char* kProcessEvents = "pids.events";
  static constexpr const char* kOomControl = "memory.oom_control";
  static constexpr const char* kPeakMemory = "memory.max_usage_in_bytes";
  static constexpr const char* kThrottling = "cpu.stat";
  static constexpr const char* kIoBytes = "blkio.throttle.io_service_bytes";

  const GroupDir& in(Controller controller) const { return dirs_[index_[controller]]; }
  bool has_blkio() const { return index_[blkio] != kNowhere; }
  std::uint64_t processes_refused() const {
    return count_of(in(pids).read(kProcessEvents).value_or(""), "max").value_or(0);
  }
  CpuNanoseconds cpu_time() const {
    return parse_cpu_usage_all(in(cpuacct).read("cpuacct.usage_all").value_or(""));
  }

  Result<void> limit_sockets(std::uint64_t memory_bytes);
  Result<void> limit_cpu(double cpus);
  Result<void> limit_io(const CgroupLimits& limits);

  std::array<std::size_t, kControllerCount> index_;
  std::vector<GroupDir> dirs_;
  std::vector<Fd> entries_;
  std::vector<int> entry_fds_;
  Fd oom_;
  HighWater peak_processes_{"pids.peak", "pids.current"};
  std::optional<std::uint64_t> refused_before_kill_;
};

Result<void> V1Group::make(const std::vector<std::shared_ptr<const GroupParent>>& parents,
                           const std::string& name) {
  dirs_.reserve(parents.size());
  for (const auto& parent : parents) {
    auto dir = GroupDir::make(parent, name);
    if (!dir) return std::unexpected(std::move(dir.error()));
    dirs_.push_back(std::move(*dir));
  }
  return {};
}

Result<void> V1Group::apply(const CgroupLimits& limits) {
  const std::string bytes = std::to_string(limits.memory_bytes);
  if (auto done = in(memory).set("memory.limit_in_bytes", bytes); !done) return done;
  // Memory and swap together may be no more than memory alone; without swap accounting there is no
  // such file, and then swappiness is what keeps the group's pages out of swap. Both, because the
  // first still lets pages trade places.
  constexpr const char* kMemoryAndSwap = "memory.memsw.limit_in_bytes";
  if (const int err = write_at(in(memory).fd(), kMemoryAndSwap, bytes); err != 0 && err != ENOENT)
    return in(memory).cannot_set(kMemoryAndSwap, bytes, err);
  if (auto done = in(memory).set("memory.swappiness", "0"); !done) return done;
  if (auto done = limit_sockets(limits.memory_bytes); !done) return done;
  if (auto done = in(pids).set("pids.max", std::to_string(limits.processes)); !done) return done;
  if (auto done = limit_cpu(limits.cpus); !done) return done;
  return limit_io(limits);
}

// v1 counts what TCP holds in its buffers only where it has a limit of its own, beside the one for
// memory.
Result<void> V1Group::limit_sockets(std::uint64_t memory_bytes) {
  constexpr const char* kFile = "memory.kmem.tcp.limit_in_bytes";
  constexpr std::uint64_t kMost = 16ULL << 20;
  const std::string bytes = std::to_string(std::min(memory_bytes, kMost));
  const int err = write_at(in(memory).fd(), kFile, bytes);
  if (err != 0 && err != ENOENT) return in(memory).cannot_set(kFile, bytes, err);
  return {};
}

Result<void> V1Group::limit_cpu(double cpus) {
  // Of kCpuPeriodUs, which is what a new group starts with (Documentation/scheduler/sched-bwc).
  constexpr const char* kQuota = "cpu.cfs_quota_us";
  const std::string quota = std::to_string(cpu_quota_us(cpus).value_or(0));
  const int err = write_at(in(cpu).fd(), kQuota, quota);
  // v1 refuses a share greater than an ancestor's (a container with fewer CPUs than were asked
  // for). The ancestor's, which is in force, is then the stricter one. The value itself was checked
  // before, so EINVAL means nothing else.
  if (err != 0 && err != EINVAL) return in(cpu).cannot_set(kQuota, quota, err);
  return {};
}

Result<void> V1Group::limit_io(const CgroupLimits& limits) {
  if (!limits.io_bytes_per_second) return {};
  if (!has_blkio())
    return fail(Reason::cannot_enforce,
                "I/O cannot be limited: the cgroup v1 controller blkio is not mounted or not "
                "writable",
                mount_command("blkio"));
  for (const dev_t device : limits.io_devices) {
    const auto disk = whole_disk(device);
    if (!disk) return std::unexpected(disk.error());
    const std::string rule = *disk + " " + std::to_string(*limits.io_bytes_per_second);
    for (const char* file : {"blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device"})
      if (auto done = in(blkio).set(file, rule); !done) return done;
  }
  return {};
}

Result<void> V1Group::open_entries() {
  for (const GroupDir& dir : dirs_) {
    Fd tasks(::openat(dir.fd(), "tasks", O_WRONLY | O_CLOEXEC));
    if (!tasks)
      return fail(Reason::cannot_enforce,
                  "cannot open " + dir.path() + "/tasks: " + std::strerror(errno));
    entry_fds_.push_back(tasks.get());
    entries_.push_back(std::move(tasks));
  }
  return {};
}

void V1Group::watch_oom() {
  Fd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  const int control = in(memory).opened(kOomControl);
  if (!event || control < 0) return;
  const std::string request = std::to_string(event.get()) + " " + std::to_string(control);
  if (write_at(in(memory).fd(), "cgroup.event_control", request) == 0) oom_ = std::move(event);
}

std::uint64_t V1Group::oom_kills() {
  if (oom_) {
    eventfd_t seen = 0;
    (void)::eventfd_read(oom_.get(), &seen);
  }
  return count_of(in(memory).read(kOomControl).value_or(""), "oom_kill").value_or(0);
}

std::uint64_t V1Group::cpu_used_us() {
  peak_processes_.sample(in(pids));
  const CpuNanoseconds used = cpu_time();
  return (used.user + used.system) / kNsPerUs;
}

CgroupUsage V1Group::usage() {
  const CpuNanoseconds used = cpu_time();
  CgroupUsage usage{
      .cpu_user_us = used.user / kNsPerUs,
      .cpu_system_us = used.system / kNsPerUs,
      .peak_memory_bytes = in(memory).count(kPeakMemory),
      .peak_processes = peak_processes_.read(in(pids)),
      .read_bytes = {},
      .write_bytes = {},
      .oom_kills = oom_kills(),
      .processes_refused = refused_before_kill_.value_or(processes_refused()),
      .throttled_periods =
          count_of(in(cpu).read(kThrottling).value_or(""), "nr_throttled").value_or(0)};
  if (has_blkio()) {
    if (const auto text = in(blkio).read(kIoBytes)) {
      const IoBytes bytes = parse_blkio_bytes(*text);
      usage.read_bytes = bytes.read;
      usage.write_bytes = bytes.write;
    }
  }
  return usage;
}

// The others are not read: the kernel keeps a page for each file that was.
CgroupUsage V1Group::usage_so_far() {
  peak_processes_.sample(in(pids));
  for (const auto& [controller, file] :
       {std::pair(memory, kOomControl), std::pair(pids, kProcessEvents),
        std::pair(cpu, kThrottling), std::pair(blkio, kIoBytes)})
    if (index_[controller] != kNowhere) (void)in(controller).opened(file);
  const CpuNanoseconds used = cpu_time();
  CgroupUsage usage;
  usage.cpu_user_us = used.user / kNsPerUs;
  usage.cpu_system_us = used.system / kNsPerUs;
  usage.peak_memory_bytes = in(memory).count(kPeakMemory);
  return usage;
}

void V1Group::kill() {
  const Deadline deadline = kill_deadline();
  // Signals alone race with a fork bomb, which v1 has no cgroup.kill against; with no fork allowed
  // they cannot lose. The forks that this refuses are ours, not the limit's.
  if (!dirs_.empty() && index_[pids] < dirs_.size()) {
    if (!refused_before_kill_) refused_before_kill_ = processes_refused();
    (void)write_at(in(pids).fd(), "pids.max", "0");
  }
  // All hierarchies: a child that died on its way in may be in some and not in others.
  for (const GroupDir& dir : dirs_)
    dir.kill(deadline);
}

bool V1Group::remove() {
  entry_fds_.clear();
  entries_.clear();
  bool gone = true;
  for (GroupDir& dir : dirs_)
    gone = dir.remove() && gone;
  return gone;
}

class V1Tree final : public CgroupTree {
 public:
  explicit V1Tree(V1Layout layout) : layout_(std::move(layout)) {}

  Result<std::unique_ptr<Cgroup>> create(std::string name, const CgroupLimits& limits) override {
    auto group = std::make_unique<V1Group>(layout_.parent_of);
    if (auto done = group->make(layout_.parents, name); !done)
      return std::unexpected(std::move(done.error()));
    if (auto done = group->apply(limits); !done) return std::unexpected(std::move(done.error()));
    if (auto done = group->open_entries(); !done) return std::unexpected(std::move(done.error()));
    group->watch_oom();
    return group;
  }

  void sweep() override {
    for (const auto& parent : layout_.parents)
      sweep_group_parent(parent);
  }

 private:
  V1Layout layout_;
};

}  // namespace

CgroupSupport probe_cgroup_v1(const CgroupHost& host) {
  return survey(host).support;
}

Result<std::unique_ptr<CgroupTree>> open_cgroup_v1(const CgroupHost& host) {
  V1Layout layout = survey(host);
  if (!layout.support.usable)
    return fail(Reason::cannot_enforce, layout.support.why_not, layout.support.fix);
  return std::make_unique<V1Tree>(std::move(layout));
}

}  // namespace sallyport
