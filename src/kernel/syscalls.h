// System calls that glibc 2.36 does not wrap, and constants newer than Debian 12's headers. All raw
// syscalls live here.
#pragma once

#include <linux/landlock.h>
#include <linux/openat2.h>
#include <linux/sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace sallyport::sys {

inline int openat2(int dirfd, const char* path, std::uint64_t flags, std::uint64_t resolve,
                   std::uint64_t mode = 0) {
  open_how how{.flags = flags, .mode = mode, .resolve = resolve};
  return static_cast<int>(::syscall(SYS_openat2, dirfd, path, &how, sizeof(how)));
}

inline pid_t clone3(clone_args& args) {
  return static_cast<pid_t>(::syscall(SYS_clone3, &args, sizeof(args)));
}

// glibc 2.36 declares this one without extern "C".
inline int pidfd_send_signal(int pidfd, int number) {
  return static_cast<int>(::syscall(SYS_pidfd_send_signal, pidfd, number, nullptr, 0));
}

inline int pivot_root(const char* new_root, const char* put_old) {
  return static_cast<int>(::syscall(SYS_pivot_root, new_root, put_old));
}

inline long keyctl_join_new_session() {
  constexpr int kJoinSessionKeyring = 1;
  return ::syscall(SYS_keyctl, kJoinSessionKeyring, nullptr, 0, 0, 0);
}

inline int landlock_create_ruleset(const void* attr, std::size_t size, std::uint32_t flags) {
  return static_cast<int>(::syscall(SYS_landlock_create_ruleset, attr, size, flags));
}

inline int landlock_add_path_rule(int ruleset, const landlock_path_beneath_attr& rule) {
  return static_cast<int>(
      ::syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0));
}

inline int landlock_restrict_self(int ruleset) {
  return static_cast<int>(::syscall(SYS_landlock_restrict_self, ruleset, 0));
}

}  // namespace sallyport::sys
