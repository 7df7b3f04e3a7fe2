#include "kernel/privilege.h"

#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel/syscalls.h"

namespace sallyport {

// System calls of our own, here and below: the library's would ask all threads to follow, and a
// copy of a process believes to have the threads that the process had.
Sys<void> become(uid_t uid, gid_t gid) {
  // Without this bit the change of uid would drop CAP_SYS_ADMIN, and hosts that keep user
  // namespaces for privileged processes would refuse the next step.
  if (::prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP) != 0)
    return sys_fail("prctl", "PR_SET_SECUREBITS");
  if (auto done = drop_groups(); !done) return done;
  if (::syscall(SYS_setresgid, gid, gid, gid) != 0) return sys_fail("setresgid");
  if (::syscall(SYS_setresuid, uid, uid, uid) != 0) return sys_fail("setresuid");
  return {};
}

Sys<void> drop_groups() {
  if (::syscall(SYS_setgroups, 0, nullptr) != 0) return sys_fail("setgroups");
  return {};
}

Sys<void> drop_capabilities() {
  for (unsigned long capability = 0;; ++capability) {
    if (::prctl(PR_CAPBSET_DROP, capability) == 0) continue;
    if (::prctl(PR_CAPBSET_READ, capability) < 0) break;  // past the last one that this kernel has
    return sys_fail("prctl", "PR_CAPBSET_DROP", EPERM);
  }
  if (::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0)
    return sys_fail("prctl", "PR_CAP_AMBIENT");
  constexpr unsigned long kLocked = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
                                    SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED |
                                    SECBIT_NO_CAP_AMBIENT_RAISE |
                                    SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
  if (::prctl(PR_SET_SECUREBITS, kLocked) != 0) return sys_fail("prctl", "PR_SET_SECUREBITS");
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  const __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
  if (::syscall(SYS_capset, &header, none) != 0) return sys_fail("capset");
  return {};
}

Sys<void> set_no_new_privileges() {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return sys_fail("prctl", "PR_SET_NO_NEW_PRIVS");
  return {};
}

Sys<void> set_dumpable(bool dumpable) {
  if (::prctl(PR_SET_DUMPABLE, dumpable ? 1 : 0, 0, 0, 0) != 0)
    return sys_fail("prctl", "PR_SET_DUMPABLE");
  return {};
}

Sys<void> join_new_keyring() {
  // A kernel without keyrings has none to inherit.
  if (sys::keyctl_join_new_session() < 0 && errno != ENOSYS) return sys_fail("keyctl");
  return {};
}

}  // namespace sallyport
