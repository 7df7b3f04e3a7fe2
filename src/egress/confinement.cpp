#include "egress/confinement.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "kernel/seccomp_calls.h"
#include "kernel/seccomp_compile.h"
#include "kernel/seccomp_install.h"

namespace sallyport {
namespace {

using enum call::Number;
using seccomp::allow;
using seccomp::arg;
using seccomp::Rule;
using seccomp::when;

// clang-format off: it would set these words in columns

// What is open already, and what came through the door.
constexpr int kBytes[] = {
    read, write, readv, writev, close, splice, pipe2, recvfrom, sendto, recvmsg, sendmsg};
constexpr int kConnections[] = {
    connect, accept, accept4, shutdown, getsockname, getpeername, getsockopt, setsockopt};
constexpr int kWaiting[] = {
    epoll_wait, epoll_pwait, epoll_ctl, poll, timerfd_settime, futex, sched_yield, nanosleep,
    clock_nanosleep, restart_syscall};
constexpr int kMemory[] = {munmap, mremap, madvise, brk};
// sysinfo: qsort() of the C library asks how much memory there is.
constexpr int kFacts[] = {
    clock_gettime, gettimeofday, time, getrandom, getpid, gettid, sysinfo, fstat};
constexpr int kEnd[] = {exit, exit_group, rt_sigreturn, rt_sigprocmask};

// clang-format on

constexpr seccomp::Verdict kNever = seccomp::refuse(EPERM);

Rule may_make_socket() {
  constexpr auto kType = arg(1).low32().masked(~std::uint64_t{SOCK_NONBLOCK | SOCK_CLOEXEC});
  return when(arg(0).low32().is_one_of({AF_INET, AF_INET6}) &&
                  kType.is_one_of({SOCK_STREAM, SOCK_DGRAM}) &&
                  arg(2).low32().is_one_of({0, IPPROTO_TCP, IPPROTO_UDP}),
              allow())
      .otherwise(kNever);
}

// Memory is for bytes, never for code.
Rule may_map() {
  return when(arg(2).has_none(PROT_EXEC), allow()).otherwise(kNever);
}

Rule may_ioctl() {
  return when(arg(1).low32().is_one_of({FIONBIO, FIONREAD}), allow()).otherwise(kNever);
}

Rule may_fcntl() {
  return when(arg(1).low32().is_one_of({F_GETFL, F_SETFL, F_GETFD, F_SETFD, F_SETPIPE_SZ}), allow())
      .otherwise(kNever);
}

}  // namespace

Result<SeccompPolicy> egress_policy() {
  constexpr int kMappings[] = {mmap, mprotect};
  return SeccompPolicy::make({{kBytes, allow()},
                              {kConnections, allow()},
                              {kWaiting, allow()},
                              {kMemory, allow()},
                              {kFacts, allow()},
                              {kEnd, allow()},
                              {kMappings, may_map()},
                              {socket, may_make_socket()},
                              {ioctl, may_ioctl()},
                              {fcntl, may_fcntl()}});
}

Result<void> confine_egress() {
  const auto policy = egress_policy();
  if (!policy) return std::unexpected(policy.error());
  auto program = compile_to_kill(*policy);
  if (!program) return std::unexpected(program.error());
  const sock_fprog loaded{static_cast<unsigned short>(program->size()), program->data()};
  if (auto done = install_killing_filter(loaded); !done)
    return fail(Reason::cannot_enforce, done.error());
  return {};
}

}  // namespace sallyport
