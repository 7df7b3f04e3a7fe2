#include "cell/prepare.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <mutex>

#include "base/file.h"
#include "base/parse.h"
#include "base/text.h"
#include "cell/client_files.h"
#include "cell/control.h"
#include "cell/ignored_signals.h"
#include "cell/launcher.h"
#include "cell/root_layout.h"
#include "cell/trust.h"
#include "egress/grants.h"
#include "kernel/memory_file.h"
#include "kernel/namespace.h"
#include "kernel/seccomp_compile.h"
#include "kernel/seccomp_observe.h"
#include "kernel/seccomp_profiles.h"
#include "kernel/syscalls.h"

namespace sallyport {
namespace {

constexpr const char* kDefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

// Absolute and without "." or "..", by the text alone: symlinks are refused later, so the text is
// the truth.
Result<std::string> absolute(const std::string& path) {
  std::string whole = path;
  if (!path.starts_with('/')) {
    const std::unique_ptr<char, void (*)(void*)> cwd(::getcwd(nullptr, 0), ::free);
    if (!cwd || cwd.get()[0] != '/')
      return fail(Reason::argument, "the current directory cannot be named",
                  "give absolute paths, or run from a directory that exists");
    whole = std::string(cwd.get()) + "/" + path;
  }
  std::vector<std::string> names;
  for (std::string_view rest = whole; !rest.empty();) {
    const std::string_view name = take(rest, '/');
    if (name.empty() || name == ".") continue;
    if (name != "..")
      names.emplace_back(name);
    else if (!names.empty())
      names.pop_back();
  }
  std::string text;
  for (const std::string& name : names)
    text.append("/").append(name);
  return text.empty() ? "/" : text;
}

// ---- Grants

// The user namespaces of idmapped mounts, one per owner.
class OwnerMaps {
 public:
  explicit OwnerMaps(Identity shown) : shown_(shown) {}

  Sys<Fd> map_for(const struct stat& owner) {
    for (const Entry& entry : entries_)
      if (entry.uid == owner.st_uid && entry.gid == owner.st_gid) return duplicate(entry.ns.get());
    auto made = make_idmap_namespace({.disk_uid = owner.st_uid,
                                      .shown_uid = shown_.uid,
                                      .disk_gid = owner.st_gid,
                                      .shown_gid = shown_.gid});
    if (!made) return made;
    auto copy = duplicate(made->get());
    entries_.push_back({owner.st_uid, owner.st_gid, std::move(*made)});
    return copy;
  }

 private:
  struct Entry {
    uid_t uid;
    gid_t gid;
    Fd ns;
  };
  static Sys<Fd> duplicate(int fd) {
    Fd copy(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
    if (!copy) return sys_fail("fcntl", "idmap");
    return copy;
  }
  Identity shown_;
  std::vector<Entry> entries_;
};

// Shows the owner of the granted tree as the cell's user, so that what the tool writes belongs to
// that owner afterwards.
Result<void> map_owner(HostMount& mount, bool write, OwnerMaps& maps) {
  auto ns = maps.map_for(mount.expected);
  if (!ns) return fail(Reason::cannot_enforce, ns.error());
  auto source = open_mount_source(mount.source.c_str());
  if (!source) return fail(Reason::argument, source.error());
  if (auto tried = clone_tree(source->get(), mount.source.c_str(), Access::read_only, ns->get());
      tried) {
    mount.idmap = std::move(*ns);
    return {};
  }
  // Without the map a readable grant shows less, never more: what any user of the host may read.
  if (!write) return {};
  return fail(Reason::cannot_enforce,
              quoted(mount.source) + " is on a file system without idmapped mounts",
              "files written there could not be given to the directory's owner; use a directory on "
              "ext4, xfs or btrfs, or run as the directory's owner");
}

Result<void> add_grant(const Grant& grant, const CellSpec& spec, Prepared& cell, OwnerMaps& maps) {
  const std::string& source = grant.host;
  const std::string& inside = grant.inside;
  if (auto place = check_grant_place(inside); !place) return place;
  struct stat there{};
  if (grant.optional && ::lstat(source.c_str(), &there) != 0 && errno == ENOENT) return {};
  auto mount =
      host_mount(source, inside.substr(1), grant.write ? Access::read_write : Access::read_only);
  if (!mount) return std::unexpected(mount.error());
  const mode_t kind = mount->expected.st_mode & S_IFMT;
  if (kind != S_IFDIR && kind != S_IFREG)
    return fail(Reason::argument, quoted(source) + " is neither a file nor a directory",
                "a socket, device or pipe of the host would be a way out of the cell");
  mount->grant = true;

  Plan& plan = cell.plan;
  if (plan.privileged) {
    if (auto mapped = map_owner(*mount, grant.write, maps); !mapped) return mapped;
  } else if (grant.write && mount->expected.st_uid != plan.outside.uid) {
    return fail(Reason::argument, quoted(source) + " belongs to another user",
                "without root only your own files can be given with --write");
  }
  if (grant.write && spec.write_mode == WriteMode::copy) {
    if (kind != S_IFDIR)
      return fail(Reason::argument, quoted(source) + " is not a directory",
                  "--write-mode copy works on directories");
    mount->copy = static_cast<int>(cell.copies.size());
    Fd directory(
        ::openat(AT_FDCWD, source.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat now{};
    if (!directory || ::fstat(directory.get(), &now) != 0 || now.st_ino != mount->expected.st_ino ||
        now.st_dev != mount->expected.st_dev)
      return fail(Reason::argument, quoted(source) + " cannot be opened: " + std::strerror(errno));
    cell.copies.push_back({std::move(directory), now, rule_prefix(source)});
  }
  plan.landlock_rules.push_back(
      {inside, grant.write ? LandlockAccess::read_write : LandlockAccess::read});
  plan.mounts.push_back(std::move(*mount));
  return {};
}

bool is_inside(std::string_view path, std::string_view place) {
  return path == place || (path.starts_with(place) && path[place.size()] == '/');
}

// Landlock gives the right to write to all that lies below a place, whatever is mounted there.
void detach_read_grants_in_writable_places(std::vector<HostMount>& mounts) {
  std::vector<std::string> writable = {"workspace", "tmp"};
  for (const HostMount& mount : mounts)
    if (mount.grant && mount.access == Access::read_write) writable.push_back(mount.target);
  for (HostMount& mount : mounts)
    mount.detached =
        mount.grant && mount.access == Access::read_only && S_ISDIR(mount.expected.st_mode) &&
        std::ranges::any_of(
            writable, [&](const std::string& place) { return is_inside(mount.target, place); });
}

Result<void> add_grants(const CellSpec& spec, Prepared& cell) {
  OwnerMaps maps(cell.plan.outside);
  std::vector<Grant> grants = spec.grants;
  for (Grant& grant : grants) {
    auto host = absolute(grant.host);
    if (!host) return std::unexpected(std::move(host.error()));
    grant.host = std::move(*host);
    if (grant.inside.empty()) grant.inside = grant.host;
  }
  // From a copy they do not come back.
  if (spec.write_mode == WriteMode::direct) {
    auto trees = protected_trees(grants);
    if (!trees) return std::unexpected(std::move(trees.error()));
    cell.protected_trees = std::move(*trees);
  }
  for (const ProtectedTree& tree : cell.protected_trees)
    protect(tree, grants);
  for (const Grant& grant : grants)
    if (auto added = add_grant(grant, spec, cell, maps); !added) return added;
  if (auto added = add_client_files(spec.client, cell); !added) return added;
  // A grant below another one is attached after it.
  std::ranges::sort(cell.plan.mounts, {}, [](const HostMount& mount) {
    return mount.grant ? std::ranges::count(mount.target, '/') + 1 : 0;
  });
  detach_read_grants_in_writable_places(cell.plan.mounts);
  const auto& mounts = cell.plan.mounts;
  for (std::size_t i = 0; i < mounts.size(); ++i)
    for (std::size_t k = i + 1; k < mounts.size(); ++k)
      if (mounts[i].grant && mounts[k].grant && mounts[i].target == mounts[k].target)
        return fail(Reason::argument,
                    "two grants have the same place inside: " + quoted("/" + mounts[i].target));
  return {};
}

Result<Fd> open_input(const InputFile& input) {
  if (input.content) {
    auto file = make_memory_file(*input.content);
    if (!file) return fail(Reason::unavailable, file.error());
    return std::move(*file);
  }
  const auto host = absolute(input.host);
  if (!host) return std::unexpected(host.error());
  const std::string& path = *host;
  auto found = host_mount(path, "", Access::read_only);
  if (!found) return std::unexpected(found.error());
  // Resolved as strictly as before: a directory on the way may have become a symlink since.
  Fd file(sys::openat2(AT_FDCWD, path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC,
                       RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS));
  struct stat status{};
  if (!file || ::fstat(file.get(), &status) != 0)
    return fail(Reason::argument, quoted(path) + " cannot be opened: " + std::strerror(errno));
  if (!S_ISREG(status.st_mode))
    return fail(Reason::argument, quoted(path) + " is not a regular file",
                "directories are given with --read or --write");
  return file;
}

Result<void> add_inputs(const CellSpec& spec, Plan& plan) {
  const bool covered = std::ranges::any_of(plan.mounts, [](const HostMount& mount) {
    return mount.grant && mount.target == "workspace";
  });
  if (covered && !(spec.inputs.empty() && spec.outputs.empty()))
    return fail(Reason::argument,
                "--in and --out need the cell's own /workspace, and a grant lies over it",
                "place the grant elsewhere, or read and write the files through it");
  for (const InputFile& input : spec.inputs) {
    auto file = open_input(input);
    if (!file) return std::unexpected(std::move(file.error()));
    plan.inputs.push_back({std::move(*file), input.name});
  }
  return {};
}

// ---- Limits

// Never more than this process has itself: raising a limit needs privileges, and is not what a
// budget is for.
void add_limit(Plan& plan, __rlimit_resource resource, const char* name, rlim_t value) {
  rlimit current{};
  if (::getrlimit(resource, &current) == 0) value = std::min(value, current.rlim_max);
  plan.resource_limits.push_back({resource, name, value});
}

void add_resource_limits(const Limits& limits, bool has_cgroup, Plan& plan) {
  // Not 0: a core_pattern that is a pipe starts its helper, as the host's root, for every limit
  // but 1.
  add_limit(plan, RLIMIT_CORE, "core", 1);
  add_limit(plan, RLIMIT_RTPRIO, "real-time priority", 0);
  add_limit(plan, RLIMIT_NICE, "nice", 0);
  add_limit(plan, RLIMIT_NOFILE, "open files", limits.open_files);
  add_limit(plan, RLIMIT_FSIZE, "file size", limits.file_size.bytes);
  add_limit(plan, RLIMIT_MEMLOCK, "locked memory", 8 << 20);
  add_limit(plan, RLIMIT_MSGQUEUE, "message queues", 819200);
  add_limit(plan, RLIMIT_SIGPENDING, "pending signals", 1024);
  // Behind the supervisor's own count, which sees all processes together.
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(limits.cpu).count();
  add_limit(plan, RLIMIT_CPU, "cpu", static_cast<rlim_t>(seconds) + 1);
  plan.watch_processes = !has_cgroup;
  if (!has_cgroup) {
    // Per process or per uid in the cell's own user namespace: weaker than a cgroup, and reported
    // as such. Not RLIMIT_AS: node reserves far more address space than it uses.
    add_limit(plan, RLIMIT_DATA, "data", limits.memory.bytes);
    add_limit(plan, RLIMIT_NPROC, "processes", limits.processes + 1);
  }
}

Result<void> make_cgroup(const CellSpec& spec, Prepared& cell) {
  CgroupLimits limits;
  limits.memory_bytes = spec.limits.memory.bytes;
  limits.processes = spec.limits.processes + 1;  // and the cell's init
  limits.cpus = spec.limits.cpus;
  if (spec.limits.io) {
    limits.io_bytes_per_second = spec.limits.io->per_second.bytes;
    for (const HostMount& mount : cell.plan.mounts) {
      const dev_t device = mount.expected.st_dev;
      if ((mount.grant || mount.target == "usr") &&
          std::ranges::find(limits.io_devices, device) == limits.io_devices.end())
        limits.io_devices.push_back(device);
    }
  }
  if (!spec.swept) sweep_cgroups();
  auto made = Cgroup::create(cell.call_id.substr(0, 12), limits);
  if (made) {
    cell.cgroup = std::move(*made);
    cell.plan.cgroup_directory = cell.cgroup->clone_into_fd();
    const auto entries = cell.cgroup->entry_fds();
    cell.plan.cgroup_entries.assign(entries.begin(), entries.end());
    return {};
  }
  // A host without a usable cgroup gets the weaker means; a usable one that refuses a limit is an
  // error.
  if (spec.limits.io || probe_cgroups().usable) return std::unexpected(made.error());
  return {};
}

// ---- Layers

std::string groups_in_force(const Launcher& launcher) {
  if (launcher.privileged || launcher.can_map_groups) return "dropped";
  return launcher.has_other_groups ? "inherited" : "none";
}

std::vector<Layer> list_layers(const CellSpec& spec, const Prepared& cell,
                               const Launcher& launcher) {
  const bool cgroup = cell.cgroup != nullptr;
  const bool unbounded =
      (spec.write_mode == WriteMode::direct && std::ranges::any_of(spec.grants, &Grant::write)) ||
      std::ranges::any_of(spec.client.files, &ClientFile::write);
  const std::string groups = groups_in_force(launcher);
  const auto abi = static_cast<unsigned>(cell.plan.landlock_abi);
  return {
      {"user", cell.plan.privileged ? "own uid" : "single uid"},
      {"mount", "own"},
      {"pid", "own"},
      {"net", cell.plan.points.empty() ? "loopback" : "allowed hosts"},
      {"ipc", "own"},
      {"uts", "own"},
      {"cgroup_namespace", "own"},
      {"capabilities", "none"},
      {"seccomp", spec.syscalls},
      {"landlock", std::to_string(abi), true, abi},
      {"cgroup", cgroup ? std::string(name_of(cell.cgroup->version())) : "none", cgroup},
      {"memory", cgroup ? "cgroup" : "rlimit and watcher", cgroup},
      {"disk", unbounded ? "unbounded" : "bounded", !unbounded},
      {"groups", groups, groups != "inherited"},
  };
}

Result<void> check_requirements(const std::vector<Requirement>& requirements,
                                const std::vector<Layer>& layers) {
  for (const Requirement& requirement : requirements) {
    const auto layer = std::ranges::find(layers, requirement.layer, &Layer::name);
    if (layer == layers.end() || !layer->in_force || layer->level < requirement.level.value_or(0)) {
      const std::string value = layer == layers.end() ? "none" : layer->value;
      return fail(Reason::cannot_enforce,
                  "the layer " + requirement.layer +
                      (requirement.level ? ":" + std::to_string(*requirement.level) : "") +
                      std::string(kUnmetRequirement) + ": it would be \"" + value + "\"",
                  "`sallyport doctor` says what this machine lacks and how to mend it");
    }
  }
  return {};
}

// ---- The filter

struct FilterKind {
  std::string profile;
  ProfileOptions options;
  bool observed;
  bool operator==(const FilterKind&) const = default;
};

struct Filter {
  std::shared_ptr<const SeccompPolicy> policy;
  std::vector<sock_filter> program;
};

// The last one is kept: whoever makes many cells makes them of one class.
Result<Filter> filter_for(const FilterKind& kind) {
  static std::mutex mutex;
  static std::optional<std::pair<FilterKind, Filter>> last;
  const std::scoped_lock lock(mutex);
  if (last && last->first == kind) return last->second;
  auto policy = make_profile(kind.profile, kind.options);
  if (policy && kind.observed) policy = observing(*policy);
  if (!policy) return std::unexpected(policy.error());
  auto program = compile(*policy);
  if (!program) return std::unexpected(program.error());
  last.emplace(kind, Filter{.policy = std::make_shared<const SeccompPolicy>(std::move(*policy)),
                            .program = std::move(*program)});
  return last->second;
}

// ---- The command

// Programs need no proxy, but those that look for one are told more by it when they are refused.
void add_proxy_variables(const Plan& plan,
                         std::vector<std::pair<std::string, std::string>>& environment) {
  const std::string proxy = "http://198.18.0.1:" + std::to_string(kProxyPort);
  const std::string direct = "localhost,127.0.0.1,::1," + plan.hostname;
  for (const char* name :
       {"http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"})
    environment.emplace_back(name, proxy);
  for (const char* name : {"no_proxy", "NO_PROXY"})
    environment.emplace_back(name, direct);
}

Sys<void> add_pipes(const CellSpec& spec, Prepared& cell) {
  Plan& plan = cell.plan;
  const auto make = [&plan](Fd& read, Fd& write) -> Sys<void> {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return sys_fail("pipe2");
    read = Fd(ends[0]);
    write = Fd(ends[1]);
    // The tool's own, or it could not open /dev/stdin, /dev/stdout and /dev/stderr.
    if (::fchown(ends[0], plan.outside.uid, plan.outside.gid) != 0)
      return sys_fail("fchown", "pipe");
    return {};
  };
  if (auto done = make(cell.stdout_read, plan.stdout_write); !done) return done;
  if (auto done = make(cell.stderr_read, plan.stderr_write); !done) return done;
  if (spec.use_stdin) {
    if (auto done = make(plan.stdin_read, cell.stdin_write); !done) return done;
  }
  auto control = make_control();
  if (!control) return std::unexpected(control.error());
  cell.control = std::move(control->supervisor);
  plan.control = std::move(control->init);
  return {};
}

void list_descriptors(Prepared& cell) {
  Plan& plan = cell.plan;
  std::vector<int>& kept = plan.descriptors;
  kept = plan.cgroup_entries;
  for (const Fd* fd : {&plan.control, &plan.trust, &plan.java_trust, &plan.stdin_read,
                       &plan.stdout_write, &plan.stderr_write})
    kept.push_back(fd->get());
  for (const HostMount& mount : plan.mounts) {
    kept.push_back(mount.idmap.get());
    kept.push_back(mount.made.get());
  }
  for (const InputCopy& input : plan.inputs)
    kept.push_back(input.source.get());
  // Init keeps the uid locked for as long as anything of the cell can live.
  if (cell.slot) kept.push_back(cell.slot->lock());
  kept.push_back(plan.shared_root);
  std::erase(kept, -1);
  std::ranges::sort(kept);
}

}  // namespace

namespace {

// A cell whose needs are observed reaches nothing: its name server answers every name.
Result<void> add_network(const CellSpec& spec, Plan& plan) {
  if (spec.network.allow.empty()) return {};
  if (plan.observe) return fail(Reason::argument, "a cell that is observed has no network");
  auto map = NetworkMap::make(spec.network);
  if (!map) return std::unexpected(std::move(map.error()));
  plan.points.assign(map->points().begin(), map->points().end());
  plan.point_sockets.assign(plan.points.size() + 1, -1);
  return {};
}

}  // namespace

CommandLine make_command(const CellSpec& spec, const Plan& plan) {
  std::vector<std::pair<std::string, std::string>> environment = {
      {"PATH", kDefaultPath}, {"HOME", "/workspace"}, {"LANG", "C.UTF-8"}};
  if (!plan.points.empty()) add_proxy_variables(plan, environment);
  if (plan.trust) add_trust_variables(plan, environment);
  // libpq looks at no list of the system. Where it is told of one it holds every server to it, so
  // it is told only where it meets our own certificates.
  if (std::ranges::any_of(spec.network.allow,
                          [&](const EgressRule& rule) { return has_password(spec.network, rule); }))
    environment.emplace_back("PGSSLROOTCERT", "/" + plan.trust_place);
  const auto set = [&](const std::string& key, const std::string& value) {
    const auto there =
        std::ranges::find(environment, key, [](const auto& pair) { return pair.first; });
    if (there == environment.end())
      environment.emplace_back(key, value);
    else
      there->second = value;
  };
  for (const auto& [key, value] : spec.environment)
    set(key, value);
  // Whatever a variable would have been: what is in it must be worth nothing.
  for (std::size_t i = 0; i < plan.placeholders.size(); ++i)
    if (!plan.placeholders[i].empty()) set(spec.network.grants[i].variable, plan.placeholders[i]);
  CommandLine command;
  command.argv = spec.command;
  command.environment.reserve(environment.size());
  for (const auto& [key, value] : environment)
    command.environment.push_back(key + "=" + value);

  const std::string& program = spec.command.front();
  if (program.find('/') != std::string::npos) {
    command.executables.push_back(program);
    return command;
  }
  for (std::string_view rest = environment.front().second; !rest.empty();)
    if (const std::string_view directory = take(rest, ':'); directory.starts_with('/'))
      command.executables.push_back(std::string(directory) + "/" + program);
  return command;
}

Result<Prepared> prepare(const CellSpec& spec, std::string call_id, const SharedRoot* shared) {
  Prepared cell;
  cell.call_id = std::move(call_id);
  Plan& plan = cell.plan;
  if (spec.command.empty()) return fail(Reason::argument, "there is no command to run");

  const auto range = spec.uids ? Result<UidRange>(*spec.uids) : UidRange::configured();
  if (!range) return std::unexpected(range.error());
  // A shared root is there for root alone, and whether this is root was asked before it was made.
  const auto launcher = shared != nullptr ? root_launcher() : current_launcher(*range);
  if (!launcher) return std::unexpected(launcher.error());
  plan.privileged = launcher->privileged;
  if (plan.privileged) {
    auto slot = UidSlot::take(*range);
    if (!slot) return std::unexpected(slot.error());
    plan.outside = plan.setup = {.uid = slot->uid(), .gid = slot->uid()};
    cell.slot = std::move(*slot);
  } else {
    plan.outside = launcher->identity;
    plan.setup = kInside;
    plan.drop_groups_with_helper = launcher->can_map_groups;
  }

  plan.observe = spec.observation != nullptr;
  if (auto done = add_network(spec, plan); !done) return std::unexpected(done.error());
  plan.hostname = spec.hostname;
  plan.cwd = spec.cwd;
  plan.scratch_size = std::to_string(spec.limits.disk.bytes);
  plan.scratch_inodes = std::to_string(spec.limits.inodes);
  plan.scratch_uid = std::to_string(plan.setup.uid);
  plan.scratch_gid = std::to_string(plan.setup.gid);

  plan.landlock_abi = landlock_abi();
  if (plan.landlock_abi < kLandlockFloor)
    return fail(Reason::cannot_enforce,
                "Landlock ABI " + std::to_string(kLandlockFloor) + " is needed, this kernel has " +
                    std::to_string(plan.landlock_abi),
                "boot with lsm=landlock,… on Linux 5.19 or newer");
  plan.landlock_rules = {{"/", LandlockAccess::read},
                         {"/tmp", LandlockAccess::read_write},
                         {"/workspace", LandlockAccess::read_write},
                         {"/dev/shm", LandlockAccess::read_write}};
  for (const char* device : {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"})
    plan.landlock_rules.push_back({device, LandlockAccess::device});

  const auto root = spec.root.empty() ? Result<std::string>("") : absolute(spec.root);
  if (!root) return std::unexpected(root.error());
  plan.placeholders.reserve(spec.network.grants.size());
  for (const EgressGrant& grant : spec.network.grants) {
    auto placeholder =
        grant.variable.empty() ? Result<std::string>("") : make_placeholder(grant.shape);
    if (!placeholder) return std::unexpected(std::move(placeholder.error()));
    plan.placeholders.push_back(std::move(*placeholder));
  }
  if (has_inspection(spec.network))
    if (auto done = lay_out_trust(plan, *root); !done) return std::unexpected(done.error());
  if (shared != nullptr) {
    plan.shared_root = shared->mounts.get();
    if (::fstat(shared->root.get(), &plan.shared_root_is) != 0)
      return fail(Reason::unavailable, SysError{"fstat", "shared root", errno});
  } else if (auto done = lay_out_root(plan, *root); !done) {
    return std::unexpected(done.error());
  }
  if (auto done = add_grants(spec, cell); !done) return std::unexpected(done.error());
  if (auto done = add_inputs(spec, plan); !done) return std::unexpected(done.error());

  if (auto done = make_cgroup(spec, cell); !done) return std::unexpected(done.error());
  add_resource_limits(spec.limits, cell.cgroup != nullptr, plan);
  cell.layers = list_layers(spec, cell, *launcher);
  if (auto done = check_requirements(spec.requirements, cell.layers); !done)
    return std::unexpected(done.error());

  const bool shows_host_trees =
      !spec.grants.empty() || !spec.client.files.empty() || !root->empty();
  cell.profile_options = {
      .refuse_path_sockets = shows_host_trees && !landlock_covers_unix_sockets(plan.landlock_abi),
      .refuse_unmapped_memory = cell.cgroup == nullptr};
  auto filter = filter_for({spec.syscalls, cell.profile_options, plan.observe});
  if (!filter) return std::unexpected(filter.error());
  cell.policy = std::move(filter->policy);
  plan.filter = std::move(filter->program);

  auto order = OrderSpace::make();
  if (!order) return fail(Reason::unavailable, order.error());
  if (!order->put(make_command(spec, plan)))
    return fail(Reason::argument, "the command and its environment are too large");
  cell.order = std::move(*order);
  plan.order = &cell.order->order();
  if (auto done = add_pipes(spec, cell); !done) return fail(Reason::unavailable, done.error());
  const auto memory = own_process_memory();
  if (!memory) return fail(Reason::unavailable, memory.error());
  plan.memory = *memory;
  plan.ignored_signals = shared != nullptr ? lasting_ignored_signals() : ignored_signals();
  list_descriptors(cell);
  return cell;
}

}  // namespace sallyport
