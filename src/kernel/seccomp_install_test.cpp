#include "kernel/seccomp_install.h"

#include <asm/ioctls.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "kernel/seccomp_compile.h"
#include "kernel/seccomp_names.h"
#include "kernel/seccomp_profiles.h"

namespace sallyport {
namespace {

bool send_descriptor(int socket, int descriptor) {
  char byte = 0;
  iovec data{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof descriptor)]{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof descriptor);
  std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  return ::sendmsg(socket, &message, 0) == 1;
}

Fd receive_descriptor(int socket) {
  char byte = 0;
  iovec data{&byte, 1};
  int descriptor = -1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof descriptor)]{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (::recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1) return Fd();
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == nullptr) return Fd();
  std::memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
  return Fd(descriptor);
}

struct Confined {
  pid_t process = -1;
  Sys<RefusalListener> listener;
};

// Starts a child under the policy that exits with what `act` returns, or with 100 if it could not
// be put under it.
Confined start_under(const SeccompPolicy& policy, int (*act)()) {
  std::vector<sock_filter> program = compile(policy).value();
  const sock_fprog loaded{static_cast<unsigned short>(program.size()), program.data()};
  int ends[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const Fd ours(ends[0]);
  Fd theirs(ends[1]);

  const pid_t child = ::fork();
  if (child == 0) {
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) ::_exit(100);
    const Sys<int> listener = install_filter(loaded);
    if (!listener || !send_descriptor(theirs.get(), *listener)) ::_exit(100);
    ::close(*listener);
    ::_exit(act());
  }
  theirs.reset();
  return {child, RefusalListener::make(receive_descriptor(ours.get()))};
}

struct Outcome {
  int exit_code = -1;
  std::vector<std::string> refused;  // by name, in order
};

// Answers for the child, as the supervisor does, until the last process under the filter is gone.
Outcome run_under(const SeccompPolicy& policy, int (*act)()) {
  Confined child = start_under(policy, act);
  Outcome outcome;
  pollfd waiting{child.listener->fd(), POLLIN, 0};
  while (::poll(&waiting, 1, 10'000) == 1 && (waiting.revents & POLLIN) != 0) {
    const auto call = child.listener->receive_and_refuse(policy);
    EXPECT_TRUE(call) << describe(call.error());
    if (call && *call) outcome.refused.push_back(name_of_call(**call));
  }
  EXPECT_EQ(waiting.revents, POLLHUP);
  int status = -1;
  ::waitpid(child.process, &status, 0);
  if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
  return outcome;
}

using Names = std::vector<std::string>;

TEST(SeccompInstall, ReportsARefusedCallByNameAndAnswersItWithThePolicysErrno) {
  const Outcome outcome = run_under(make_profile("default").value(), [] {
    if (::getppid() <= 0) return 1;
    if (::mount("none", "/", nullptr, MS_REMOUNT, nullptr) != -1 || errno != EPERM) return 2;
    if (::socket(AF_VSOCK, SOCK_STREAM, 0) != -1 || errno != EAFNOSUPPORT) return 3;
    if (::syscall(600) != -1 || errno != ENOSYS) return 4;
    const unsigned long dressed_up = TIOCSTI | 1ul << 32;
    if (::syscall(SYS_ioctl, 0, dressed_up, "x") != -1 || errno != EPERM) return 5;
    return 0;
  });
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.refused, (Names{"mount", "socket", "syscall 600", "ioctl"}));
}

TEST(SeccompInstall, FailsAnExpectedProbeWithoutAReport) {
  const Outcome outcome = run_under(make_profile("default").value(), [] {
    return ::syscall(SYS_clone3, nullptr, 0) == -1 && errno == ENOSYS ? 0 : 1;
  });
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.refused, Names{});
}

// Number 20 is getpid for i386 and writev for x86-64, which the profile allows.
TEST(SeccompInstall, RefusesTheOtherTwoWaysIntoTheKernel) {
  const Outcome outcome = run_under(make_profile("default").value(), [] {
    long result = 20;
    asm volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
    if (result != -ENOSYS) return 1;
    if (::syscall(0x4000'0000 | SYS_getpid) != -1 || errno != ENOSYS) return 2;
    return 0;
  });
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.refused, (Names{"i386 syscall 20", "x32 syscall 39"}));
}

TEST(SeccompInstall, GoesOnForProgramsThatTheChildStarts) {
  const Outcome outcome = run_under(make_profile("default").value(), [] {
    ::execl("/bin/sh", "sh", "-c", "setarch -R true 2>/dev/null || exit 7", nullptr);
    return 1;
  });
  EXPECT_EQ(outcome.exit_code, 7);
  ASSERT_FALSE(outcome.refused.empty());
  EXPECT_EQ(outcome.refused.front(), "personality");
}

TEST(SeccompInstall, SaysNothingOfACallWhoseMakerHasDied) {
  const SeccompPolicy policy = make_profile("default").value();
  Confined child = start_under(policy, [] { return ::chroot("/"); });
  pollfd waiting{child.listener->fd(), POLLIN, 0};
  ASSERT_EQ(::poll(&waiting, 1, 10'000), 1);
  ASSERT_EQ(waiting.revents, POLLIN);
  ::kill(child.process, SIGKILL);
  ::waitpid(child.process, nullptr, 0);
  const auto call = child.listener->receive_and_refuse(policy);
  ASSERT_TRUE(call) << describe(call.error());
  EXPECT_EQ(call->has_value(), false);
}

TEST(SeccompInstall, NamesTheCallWhenTheKernelTakesNoFilter) {
  const sock_fprog empty{0, nullptr};
  const Sys<int> listener = install_filter(empty);
  ASSERT_FALSE(listener);
  EXPECT_STREQ(listener.error().call, "seccomp");
}

}  // namespace
}  // namespace sallyport
