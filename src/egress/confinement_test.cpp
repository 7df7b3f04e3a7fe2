#include "egress/confinement.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "base/fd.h"

namespace sallyport {
namespace {

constexpr int kNotConfined = 100;

// How a child ends that makes these calls under the filter, and then exits with 0.
int status_after(void (*act)()) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || !confine_egress()) ::_exit(kNotConfined);
    act();
    // Not _exit(): a sanitizer asks the kernel for things of its own before that.
    for (;;)
      ::syscall(SYS_exit_group, 0);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

bool ends_it(void (*act)()) {
  const int status = status_after(act);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS;
}

void ask(long number, long a = 0, long b = 0, long c = 0, long d = 0) {
  ::syscall(number, a, b, c, d);
}

TEST(EgressConfinement, LetsASocketBeUsed) {
  EXPECT_EQ(
      status_after([] {
        for (const int family : {AF_INET, AF_INET6})
          for (const int type : {SOCK_STREAM | 0, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC}) {
            const Fd one(::socket(family, type, 0));
            const int on = 1;
            if (!one || ::setsockopt(one.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on) != 0)
              ::_exit(1);
          }
        const Fd one(::socket(AF_INET, SOCK_DGRAM, 0));
        sockaddr_in place{};
        place.sin_family = AF_INET;
        place.sin_port = htons(9);
        place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (::connect(one.get(), reinterpret_cast<sockaddr*>(&place), sizeof place) != 0 ||
            ::send(one.get(), "x", 1, 0) != 1)
          ::_exit(2);
        int ends[2];
        char bytes[16];
        if (::pipe2(ends, O_NONBLOCK) != 0 || ::getrandom(bytes, sizeof bytes, 0) < 0) ::_exit(3);
        void* const room =
            ::mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (room == MAP_FAILED || ::munmap(room, 1 << 20) != 0) ::_exit(4);
      }),
      0);
}

TEST(EgressConfinement, EndsAProcessThatOpensAFile) {
  EXPECT_TRUE(ends_it([] { ask(SYS_open, reinterpret_cast<long>("/etc/passwd"), O_RDONLY); }));
  EXPECT_TRUE(ends_it([] { ::open("/etc/passwd", O_RDONLY | O_CLOEXEC); }));
  EXPECT_TRUE(ends_it([] { ask(SYS_openat2, AT_FDCWD, 0, 0, 0); }));
  EXPECT_TRUE(ends_it([] { ::unlink("/nonexistent"); }));
  EXPECT_TRUE(ends_it([] { ask(SYS_memfd_create, reinterpret_cast<long>("x"), 0); }));
  EXPECT_TRUE(ends_it([] { ask(SYS_io_uring_setup, 1, 0); }));
}

TEST(EgressConfinement, EndsAProcessThatStartsAProgramOrTouchesAProcess) {
  EXPECT_TRUE(ends_it([] {
    char* const none[] = {nullptr};
    ::execve("/bin/true", none, none);
  }));
  EXPECT_TRUE(ends_it([] { ask(SYS_execveat, AT_FDCWD, 0, 0, 0); }));
  EXPECT_TRUE(ends_it([] { ::fork(); }));
  EXPECT_TRUE(ends_it([] { ask(SYS_clone3, 0, 0); }));
  EXPECT_TRUE(ends_it([] { ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr); }));
  EXPECT_TRUE(ends_it([] { ask(SYS_process_vm_readv, 1, 0, 0, 0); }));
  EXPECT_TRUE(ends_it([] { ::kill(::getppid(), 0); }));
  EXPECT_TRUE(ends_it([] { ask(SYS_pidfd_getfd, 0, 0, 0); }));
  EXPECT_TRUE(ends_it([] { ::unshare(0); }));
  EXPECT_TRUE(ends_it([] { ask(SYS_setuid, 0); }));
}

TEST(EgressConfinement, EndsAProcessThatMakesAnotherKindOfSocket) {
  EXPECT_TRUE(ends_it([] { ::socket(AF_PACKET, SOCK_RAW, 0); }));
  EXPECT_TRUE(ends_it([] { ::socket(AF_INET, SOCK_RAW, IPPROTO_ICMP); }));
  EXPECT_TRUE(ends_it([] { ::socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP); }));
  EXPECT_TRUE(ends_it([] { ::socket(AF_INET6, SOCK_STREAM, IPPROTO_SCTP); }));
  EXPECT_TRUE(ends_it([] { ::socket(AF_UNIX, SOCK_STREAM, 0); }));
  EXPECT_TRUE(ends_it([] { ::socket(AF_NETLINK, SOCK_RAW, 0); }));
  EXPECT_TRUE(ends_it([] { ::socket(AF_VSOCK, SOCK_STREAM, 0); }));
  EXPECT_TRUE(ends_it([] { ::bind(0, nullptr, 0); }));
  EXPECT_TRUE(ends_it([] { ::listen(0, 1); }));
}

TEST(EgressConfinement, EndsAProcessThatMakesCode) {
  EXPECT_TRUE(ends_it(
      [] { ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }));
  EXPECT_TRUE(ends_it([] { ::mprotect(nullptr, 4096, PROT_READ | PROT_EXEC); }));
  EXPECT_TRUE(ends_it([] { ask(SYS_ioctl, 0, 0x5412 /* TIOCSTI */, 0); }));
  EXPECT_TRUE(ends_it([] { ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); }));
}

}  // namespace
}  // namespace sallyport
