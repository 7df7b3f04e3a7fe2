#include "cell/steps.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/magic.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "cell/control.h"
#include "cell/egress_points.h"
#include "cell/observe_names.h"
#include "cell/root_build.h"
#include "cell/trust.h"
#include "kernel/namespace.h"
#include "kernel/privilege.h"
#include "kernel/seccomp_install.h"
#include "kernel/syscalls.h"
#include "kernel/turns.h"

namespace sallyport {
namespace {

// The launcher may have been killed before this process could ask to die with it; its end of the
// socket tells.
Sys<void> die_with_launcher(Launch& launch) {
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return sys_fail("prctl", "PR_SET_PDEATHSIG");
  pollfd control{.fd = launch.plan.control.get(), .events = 0, .revents = 0};
  if (::poll(&control, 1, 0) != 0) return sys_fail("poll", "launcher is gone", EPIPE);
  return {};
}

Sys<void> new_session(Launch&) {
  if (::setsid() < 0) return sys_fail("setsid");
  if (!give_up_precedence()) return sys_fail("setpriority", "nice 0");
  ::umask(0);  // modes below are meant as written; the tool gets 022
  return {};
}

// Whatever the launcher's own parent leaked into it ends here, not only at execve: init does not
// exec.
Sys<void> close_descriptors(Launch& launch) {
  unsigned next = 0;
  for (int fd : launch.plan.descriptors) {
    const auto kept = static_cast<unsigned>(fd);
    if (kept > next && ::close_range(next, kept - 1, 0) != 0) return sys_fail("close_range");
    next = kept + 1;
  }
  if (::close_range(next, ~0U, 0) != 0) return sys_fail("close_range");
  return {};
}

// For the identity maps, before and after the host's mounts are let go.
Sys<void> open_host_proc(Launch& launch) {
  launch.host_proc = Fd(::open("/proc", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!launch.host_proc) return sys_fail("open", "/proc");
  struct statfs kind{};
  if (::fstatfs(launch.host_proc.get(), &kind) != 0) return sys_fail("fstatfs", "/proc");
  if (kind.f_type != PROC_SUPER_MAGIC) return sys_fail("fstatfs", "/proc", EINVAL);
  return {};
}

// Ordinary user: the user namespace came with clone, and until it is mapped nothing can be made in
// it.
Sys<void> map_identity(Launch& launch) {
  const Plan& plan = launch.plan;
  if (plan.privileged) return {};
  // The files under /proc/self belong to root while a process is not dumpable.
  if (auto done = set_dumpable(true); !done) return done;
  if (auto done = map_uid(launch.host_proc.get(), kInside.uid, plan.outside.uid); !done)
    return done;
  if (plan.drop_groups_with_helper) {
    if (auto done = ask_supervisor(plan.control.get(), ControlMessage::map_groups); !done)
      return done;
    if (auto dropped = drop_groups(); !dropped) return dropped;
  } else if (auto done = map_gid(launch.host_proc.get(), kInside.gid, plan.outside.gid); !done) {
    return done;
  }
  return set_dumpable(false);
}

// When the machine runs out of memory, cells are the first to go.
Sys<void> oom_score(Launch& launch) {
  if (auto done = set_dumpable(true); !done) return done;
  Fd score(::openat(launch.host_proc.get(), "self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  if (!score) return sys_fail("openat", "oom_score_adj");
  if (::write(score.get(), "500", 3) != 3) return sys_fail("write", "oom_score_adj");
  return set_dumpable(false);
}

// cgroup v1. A thread that moves itself ("0") does not take the lock for which moving another
// process waits for an RCU grace period (8-25 ms on stock kernels).
Sys<void> enter_cgroup(Launch& launch) {
  for (int tasks : launch.plan.cgroup_entries)
    if (::write(tasks, "0", 1) != 1) return sys_fail("write", "cgroup tasks");
  return {};
}

// After entering, so that the cell's cgroup is the root of what it can see.
Sys<void> cgroup_namespace(Launch&) {
  return unshare_namespace(CLONE_NEWCGROUP, "cgroup namespace");
}

Sys<void> hostname(Launch& launch) {
  return set_hostname(launch.plan.hostname.c_str());
}

Sys<void> loopback(Launch&) {
  return bring_up_loopback();
}

// A port that the tool itself could not have; the socket goes to the supervisor.
Sys<void> observed_names(Launch& launch) {
  if (!launch.plan.observe) return {};
  auto server = make_name_server();
  if (!server) return std::unexpected(server.error());
  launch.name_server = std::move(*server);
  return {};
}

// The sockets of the cell's network are made in it and served from outside: no interface leads out,
// and none is needed. Nothing is started before somebody serves them.
Sys<void> egress(Launch& launch) {
  Plan& plan = launch.plan;
  if (plan.points.empty()) return {};
  if (auto done = add_loopback_network(kEgressNetwork); !done) return done;
  auto names = make_name_server();
  if (!names) return std::unexpected(names.error());
  plan.point_sockets[0] = names->get();
  for (std::size_t i = 0; i < plan.points.size(); ++i) {
    auto listener = listen_at(plan.points[i]);
    if (!listener) return std::unexpected(listener.error());
    plan.point_sockets[i + 1] = listener->release();
  }
  if (auto sent = send_descriptors(plan.control.get(), ControlMessage::egress, plan.point_sockets);
      !sent)
    return sent;
  for (const int socket : std::span(plan.point_sockets).subspan(1))
    ::close(socket);
  names->reset();
  return await_done(plan.control.get());
}

// Made while the host's /proc is still there: without root the kernel allows a new one only where a
// whole one is seen.
Sys<void> private_proc(Launch& launch) {
  auto proc = make_filesystem("proc", {}, Access::read_only_proc);
  if (!proc) return std::unexpected(proc.error());
  launch.proc = std::move(*proc);
  return {};
}

// Clones every host tree while the host's mounts can still be reached.
Sys<void> clone_host_mounts(Launch& launch) {
  return clone_mounts(launch.plan.mounts, launch.plan.privileged);
}

// Everything of the system is in one that is shared. The copy is the cell's own: what is attached
// to it is seen nowhere else.
Sys<Fd> copy_shared_root(const Plan& plan) {
  if (auto done = enter_namespace(plan.shared_root, CLONE_NEWNS, "shared root"); !done)
    return std::unexpected(done.error());
  ::close(plan.shared_root);
  if (auto done = unshare_namespace(CLONE_NEWNS, "mount namespace"); !done)
    return std::unexpected(done.error());
  Fd root(::open("/", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat now{};
  if (!root || ::fstat(root.get(), &now) != 0) return sys_fail("open", "shared root");
  if (now.st_dev != plan.shared_root_is.st_dev || now.st_ino != plan.shared_root_is.st_ino)
    return sys_fail("fstat", "shared root", ESTALE);
  return root;
}

Sys<void> new_root(Launch& launch) {
  const bool shared = launch.plan.shared_root >= 0;
  auto root = shared ? copy_shared_root(launch.plan) : make_root_filesystem();
  if (!root) return std::unexpected(root.error());
  launch.root = std::move(*root);
  return shared ? Sys<void>{} : replace_root(launch.root.get());
}

Sys<void> fill_root(Launch& launch) {
  if (auto done = put_entries(launch.root.get(), launch.plan.root_entries); !done) return done;
  return write_trust(launch);
}

Sys<void> scratch(Launch& launch) {
  const Plan& plan = launch.plan;
  const MountOption options[] = {{"size", plan.scratch_size.c_str()},
                                 {"nr_inodes", plan.scratch_inodes.c_str()},
                                 {"mode", "0755"},
                                 {"uid", plan.scratch_uid.c_str()},
                                 {"gid", plan.scratch_gid.c_str()}};
  auto made = make_filesystem("tmpfs", options, Access::read_write);
  if (!made) return std::unexpected(made.error());
  launch.scratch = std::move(*made);
  const int root = launch.root.get();
  if (auto done = attach(launch.scratch.get(), root, kScratch); !done) return done;

  struct Part {
    const char* name;
    const char* target;
    mode_t mode;
  };
  for (const Part& part : {Part{"workspace", "workspace", 0755}, Part{"tmp", "tmp", 01777},
                           Part{"shm", "dev/shm", 01777}}) {
    const int scratch = launch.scratch.get();
    if (::mkdirat(scratch, part.name, part.mode) != 0) return sys_fail("mkdirat", part.name);
    if (::fchownat(scratch, part.name, plan.setup.uid, plan.setup.gid, AT_SYMLINK_NOFOLLOW) != 0)
      return sys_fail("fchownat", part.name);
    // With the attributes that the whole was made with.
    auto tree = copy_mount(scratch, part.name);
    if (!tree) return std::unexpected(tree.error());
    if (auto done = attach(tree->get(), root, part.target); !done) return done;
  }
  return {};
}

Sys<void> copy_inputs(Launch& launch) {
  const Plan& plan = launch.plan;
  for (const InputCopy& input : plan.inputs) {
    Fd workspace(::openat(launch.scratch.get(), "workspace", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!workspace) return sys_fail("openat", "workspace");
    const char* name = input.name.c_str();
    if (auto done = make_parents(workspace.get(), name, plan.setup); !done) return done;
    Fd file(::openat(workspace.get(), name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    if (!file) return sys_fail("openat", name);
    for (;;) {
      const ssize_t sent = ::sendfile(file.get(), input.source.get(), nullptr, 1 << 20);
      if (sent < 0) return sys_fail("sendfile", name);
      if (sent == 0) break;
    }
    if (::fchown(file.get(), plan.setup.uid, plan.setup.gid) != 0) return sys_fail("fchown", name);
  }
  return {};
}

Sys<void> attach_system(Launch& launch) {
  if (auto done = attach_system_mounts(launch.plan.mounts, launch.root.get()); !done) return done;
  return cover_system_trust(launch);
}

Sys<void> attach_proc(Launch& launch) {
  return attach_masked_proc(launch);
}

Sys<void> attach_grants(Launch& launch) {
  int views = 0;
  for (HostMount& mount : launch.plan.mounts) {
    if (!mount.grant) continue;
    Fd tree(std::exchange(mount.tree, -1));
    const char* target = mount.target.c_str();
    if (auto done = make_mount_point(launch, target, S_ISDIR(mount.expected.st_mode)); !done)
      return done;
    if (mount.copy >= 0) {
      auto overlay = make_copy_overlay(launch, mount, tree.get());
      if (!overlay) return std::unexpected(overlay.error());
      tree = std::move(*overlay);
    } else if (mount.detached) {
      auto view = make_detached_view(launch, views++, tree.get());
      if (!view) return std::unexpected(view.error());
      tree = std::move(*view);
    }
    if (auto done = attach(tree.get(), launch.root.get(), target); !done) return done;
  }
  return {};
}

Sys<void> seal_root(Launch& launch) {
  const int root = launch.root.get();
  if (::umount2(kScratch, MNT_DETACH) != 0) return sys_fail("umount2", kScratch);
  // In a shared root it stays, as an empty directory.
  if (launch.plan.shared_root < 0 && ::unlinkat(root, kScratch, AT_REMOVEDIR) != 0)
    return sys_fail("unlinkat", kScratch);
  if (auto done = set_access(root, "/", Access::read_only); !done) return done;
  launch.root.reset();
  return {};
}

Sys<void> limits(Launch& launch) {
  for (const ResourceLimit& limit : launch.plan.resource_limits) {
    const rlimit value{.rlim_cur = limit.value, .rlim_max = limit.value};
    if (::setrlimit(limit.resource, &value) != 0) return sys_fail("setrlimit", limit.name);
  }
  return {};
}

Sys<void> identity(Launch& launch) {
  if (!launch.plan.privileged) return {};
  return become(launch.plan.outside.uid, launch.plan.outside.gid);
}

// The last namespace, unshared by a process that has already given up its uid: it owns none of the
// others, so whatever capability could be had in it would be worth nothing over the cell's mounts,
// network or processes.
Sys<void> user_namespace(Launch& launch) {
  const Identity& self = launch.plan.setup;
  if (auto done = unshare_namespace(CLONE_NEWUSER, "user namespace"); !done) return done;
  if (auto done = set_dumpable(true); !done) return done;
  if (auto done = map_uid(launch.host_proc.get(), kInside.uid, self.uid); !done) return done;
  if (auto done = map_gid(launch.host_proc.get(), kInside.gid, self.gid); !done) return done;
  launch.host_proc.reset();
  return set_dumpable(false);
}

Sys<void> keyring(Launch&) {
  return join_new_keyring();
}

Sys<void> working_directory(Launch& launch) {
  const char* path = launch.plan.cwd.c_str();
  if (::chdir(path) != 0) return sys_fail("chdir", path);
  // CVE-2024-21626: a directory outside the root has a name that does not begin with '/'.
  char name[4096];
  if (::getcwd(name, sizeof(name)) == nullptr || name[0] != '/')
    return sys_fail("getcwd", path, ENOENT);
  return {};
}

Sys<void> capabilities(Launch&) {
  return drop_capabilities();
}

Sys<void> no_new_privileges(Launch&) {
  return set_no_new_privileges();
}

Sys<void> landlock(Launch& launch) {
  const Plan& plan = launch.plan;
  auto ruleset = LandlockRuleset::create(plan.landlock_abi);
  if (!ruleset) return std::unexpected(ruleset.error());
  for (const LandlockRule& rule : plan.landlock_rules)
    if (auto done = ruleset->allow(rule.path.c_str(), rule.access); !done) return done;
  return ruleset->restrict_self();
}

// Changes of identity cleared the request of the first step.
Sys<void> die_with_launcher_again(Launch& launch) {
  return die_with_launcher(launch);
}

Sys<void> seccomp(Launch& launch) {
  sock_fprog program{.len = static_cast<unsigned short>(launch.plan.filter.size()),
                     .filter = launch.plan.filter.data()};
  auto listener = install_filter(program);
  if (!listener) return std::unexpected(listener.error());
  launch.listener = Fd(*listener);
  return {};
}

Sys<void> hand_over(Launch& launch) {
  int fds[] = {launch.listener.get(), launch.scratch.get(), -1, -1};
  std::size_t count = 2;
  if (launch.watched_proc) fds[count++] = launch.watched_proc.get();
  if (launch.name_server) fds[count++] = launch.name_server.get();
  if (auto done = send_descriptors(launch.plan.control.get(), ControlMessage::descriptors,
                                   std::span(fds, count));
      !done)
    return done;
  launch.listener.reset();
  launch.scratch.reset();
  launch.watched_proc.reset();
  launch.name_server.reset();
  return {};
}

constexpr Step kSteps[] = {
    {"die with launcher", die_with_launcher},
    {"new session", new_session},
    {"close descriptors", close_descriptors},
    {"open host proc", open_host_proc},
    {"map identity", map_identity},
    {"oom score", oom_score},
    {"enter cgroup", enter_cgroup},
    {"cgroup namespace", cgroup_namespace},
    {"hostname", hostname},
    {"loopback", loopback},
    {"observed names", observed_names},
    {"egress", egress},
    {"private proc", private_proc},
    {"clone host mounts", clone_host_mounts},
    {"new root", new_root},
    {"fill root", fill_root},
    {"scratch", scratch},
    {"copy inputs", copy_inputs},
    {"attach system", attach_system},
    {"attach proc", attach_proc},
    {"attach grants", attach_grants},
    {"seal root", seal_root},
    {"limits", limits},
    {"identity", identity},
    {"user namespace", user_namespace},
    {"keyring", keyring},
    {"working directory", working_directory},
    {"capabilities", capabilities},
    {"no new privileges", no_new_privileges},
    {"landlock", landlock},
    {"die with launcher, again", die_with_launcher_again},
    {"seccomp", seccomp},
    {"hand over", hand_over},
};
static_assert(std::size(kSteps) < Board::kMaxSteps);

}  // namespace

std::span<const Step> launch_steps() {
  return kSteps;
}

}  // namespace sallyport
