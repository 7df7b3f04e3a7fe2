#include "cell/doctor_facts.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/fd.h"
#include "base/file.h"
#include "kernel/cgroup_text.h"
#include "kernel/landlock.h"
#include "kernel/mount.h"
#include "kernel/namespace.h"
#include "kernel/privilege.h"
#include "kernel/syscalls.h"

namespace sallyport {
namespace {

std::optional<std::uint64_t> read_setting(const char* path) {
  return parse_count(read_file(path).value_or(""));
}

// Runs `attempt` in a child, which takes what it made with it. The errno of what failed, or 0.
template <class Attempt>
int try_in_child(Attempt attempt) {
  const pid_t child = ::fork();
  if (child < 0) return errno;
  if (child == 0) {
    const Sys<void> tried = attempt();
    ::_exit(tried ? 0 : tried.error().err);
  }
  int status = 0;
  if (::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return EIO;
  return WEXITSTATUS(status);
}

// Ubuntu's AppArmor lets the namespace be made and then takes its capabilities away, so one of them
// has to be used.
Sys<void> use_user_namespace() {
  if (auto made = unshare_namespace(CLONE_NEWUSER | CLONE_NEWUTS, "user namespace"); !made)
    return made;
  return set_hostname("sallyport");
}

// Calls that a cell needs and that containers' default filters refuse, each made so that it does
// nothing and an unfiltered kernel's answer is known.
std::vector<std::string> find_refused_calls() {
  std::vector<std::string> refused;
  const int cloned = try_in_child([]() -> Sys<void> {
    clone_args unknown_flags{};
    unknown_flags.flags = ~0ULL;
    if (sys::clone3(unknown_flags) < 0 && errno != EINVAL) return sys_fail("clone3");
    return {};
  });
  if (cloned != 0) refused.emplace_back("clone3");
  if (try_in_child([] { return unshare_namespace(0, "nothing"); }) != 0)
    refused.emplace_back("unshare");
  if (try_in_child(join_new_keyring) != 0) refused.emplace_back("keyctl");
  return refused;
}

std::string find_container() {
  if (::access("/.dockerenv", F_OK) == 0) return "docker";
  if (::access("/run/.containerenv", F_OK) == 0) return "podman";
  return {};
}

bool has_user_notification() {
  const std::uint32_t action = SECCOMP_RET_USER_NOTIF;
  return ::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

std::string filesystem_at(int directory, const std::vector<MountLine>& mounts) {
  struct statx status{};
  if (::statx(directory, "", AT_EMPTY_PATH, STATX_MNT_ID, &status) != 0) return "unknown";
  const auto mount = std::ranges::find(mounts, status.stx_mnt_id, &MountLine::id);
  return mount == mounts.end() ? "unknown" : mount->type;
}

// Of the one mount and not of those below it: the question is about a file system.
Sys<void> map_owners(int directory, const char* path) {
  struct stat owner{};
  if (::fstat(directory, &owner) != 0) return sys_fail("fstat", path);
  const uid_t shown = UidRange{}.first;
  auto map = make_idmap_namespace(
      {.disk_uid = owner.st_uid, .shown_uid = shown, .disk_gid = owner.st_gid, .shown_gid = shown});
  if (!map) return std::unexpected(map.error());
  Fd tree(::open_tree(directory, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
  if (!tree) return sys_fail("open_tree", path);
  mount_attr attr{.attr_set = MOUNT_ATTR_IDMAP,
                  .attr_clr = 0,
                  .propagation = 0,
                  .userns_fd = static_cast<std::uint64_t>(map->get())};
  if (::mount_setattr(tree.get(), "", AT_EMPTY_PATH, &attr, sizeof(attr)) != 0)
    return sys_fail("mount_setattr", path);
  return {};
}

IdmapTrial try_idmap(const std::string& path, const std::vector<MountLine>& mounts) {
  IdmapTrial trial{.path = path, .filesystem = "unknown", .err = 0};
  Fd directory(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory) {
    trial.err = errno;
    return trial;
  }
  trial.filesystem = filesystem_at(directory.get(), mounts);
  if (auto mapped = map_owners(directory.get(), path.c_str()); !mapped)
    trial.err = mapped.error().err;
  return trial;
}

void read_system(HostFacts& facts) {
  utsname name{};
  ::uname(&name);
  facts.kernel = name.release;
  facts.distribution = parse_os_release(read_file("/etc/os-release").value_or(""));
  facts.landlock_abi = landlock_abi();
  if (const auto lsms = read_file("/sys/kernel/security/lsm")) facts.lsms = parse_lsm_list(*lsms);
  facts.user_notification = has_user_notification();
  facts.overlay = lists_filesystem(read_file("/proc/filesystems").value_or(""), "overlay");
  facts.swap_kib = swap_kib(read_file("/proc/swaps").value_or(""));
  const Fd kvm(::open("/dev/kvm", O_RDWR | O_CLOEXEC));
  facts.kvm_err = kvm ? 0 : errno;
}

void read_user(HostFacts& facts) {
  facts.uid = ::geteuid();
  facts.user = user_name(read_file("/etc/passwd").value_or(""), facts.uid);
  if (facts.user.empty()) facts.user = std::to_string(facts.uid);
  std::error_code unknown;
  facts.executable = std::filesystem::read_symlink("/proc/self/exe", unknown);
  if (const auto range = UidRange::configured())
    facts.launcher = current_launcher(*range);
  else
    facts.launcher = std::unexpected(range.error());
  facts.newgidmap = ::access("/usr/bin/newgidmap", X_OK) == 0;
  facts.has_subordinate_gid = own_subordinate_gid(facts.uid).has_value();
  facts.free_subordinate_gid = free_subordinate_id(read_file("/etc/subgid").value_or(""));
}

}  // namespace

HostFacts read_host_facts() {
  HostFacts facts;
  read_system(facts);
  read_user(facts);

  facts.user_namespace_err = try_in_child(use_user_namespace);
  facts.max_user_namespaces = read_setting("/proc/sys/user/max_user_namespaces");
  facts.unprivileged_userns_clone = read_setting("/proc/sys/kernel/unprivileged_userns_clone");
  facts.apparmor_restricts_userns =
      read_setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns");

  facts.container = find_container();
  facts.refused_calls = find_refused_calls();
  // A kernel that lists Landlock and does not answer for it is not the one that answered.
  if (facts.landlock_abi == 0 && facts.lists_landlock())
    facts.refused_calls.emplace_back("landlock_create_ruleset");
  facts.apparmor_profile =
      enforced_profile(read_file("/proc/self/attr/apparmor/current").value_or(""));
  const auto mounts = parse_mountinfo(read_file("/proc/self/mountinfo").value_or(""));
  facts.proc = see_proc(mounts);
  facts.cgroups_read_only = cgroups_are_read_only(mounts);
  facts.cgroups = probe_cgroups();

  if (facts.privileged()) {
    std::error_code unknown;
    const std::string here = std::filesystem::current_path(unknown);
    if (!here.empty()) facts.idmaps.push_back(try_idmap(here, mounts));
    if (here != "/tmp") facts.idmaps.push_back(try_idmap("/tmp", mounts));
  }
  return facts;
}

}  // namespace sallyport
