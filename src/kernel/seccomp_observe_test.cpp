#include "kernel/seccomp_observe.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/fs.h>
#include <linux/netlink.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

#include "kernel/seccomp_calls.h"
#include "kernel/seccomp_compile.h"
#include "kernel/seccomp_evaluate.h"
#include "kernel/seccomp_install.h"
#include "kernel/seccomp_make_call.h"
#include "kernel/seccomp_policy_from_bytes.h"
#include "kernel/seccomp_profiles.h"

namespace sallyport {
namespace {

using seccomp::Verdict;

// Arguments that some rule looks for, so that every clause is met.
constexpr std::uint64_t kArguments[] = {0,
                                        1,
                                        2,
                                        3,
                                        AF_NETLINK,
                                        AF_INET6,
                                        SOCK_RAW,
                                        SOCK_STREAM | SOCK_CLOEXEC,
                                        MSG_NOSIGNAL,
                                        MSG_NOSIGNAL | std::uint64_t{1} << 32,
                                        O_CREAT,
                                        O_TMPFILE,
                                        S_ISUID | 0755,
                                        S_IFCHR | 0600,
                                        CLONE_NEWUSER,
                                        RENAME_WHITEOUT,
                                        0x40000,  // ADDR_NO_RANDOMIZE
                                        0xffff'ffff,
                                        ~std::uint64_t{0}};

template <class Check>
void for_many_calls(const Check& check) {
  std::mt19937_64 random(20240501);
  for (int number = -1; number <= SeccompPolicy::kCallLimit; ++number)
    for (int i = 0; i < 60; ++i) {
      seccomp_data call = make_call(number);
      for (auto& argument : call.args)
        argument = random() % 4 == 0 ? random() : kArguments[random() % std::size(kArguments)];
      check(call);
      call.arch = AUDIT_ARCH_I386;
      check(call);
    }
}

void expect_same_calls_let_through(const SeccompPolicy& plain, const SeccompPolicy& observed,
                                   const seccomp_data& call) {
  const Verdict before = plain.decide(call), after = observed.decide(call);
  if (before.kind == Verdict::Kind::allow)
    EXPECT_TRUE(lets_through(after)) << call.nr;
  else
    EXPECT_EQ(before, after) << call.nr;
}

TEST(SeccompObserve, LetsThroughExactlyWhatTheProfileDoes) {
  for (const ProfileText& profile : profile_texts()) {
    const SeccompPolicy plain = make_profile(profile.name, {.refuse_path_sockets = true}).value();
    const SeccompPolicy observed = observing(plain).value();
    const std::vector<sock_filter> program = compile(observed).value();
    for_many_calls([&](const seccomp_data& call) {
      expect_same_calls_let_through(plain, observed, call);
      EXPECT_EQ(evaluate(program, call), action_of(observed.decide(call))) << call.nr;
    });
  }
}

TEST(SeccompObserve, LetsThroughExactlyWhatAnyOtherPolicyDoes) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 200; ++i) {
    std::vector<std::uint8_t> bytes(600);
    std::ranges::generate(bytes, [&] { return static_cast<std::uint8_t>(random()); });
    PolicyFromBytes source(bytes);
    const SeccompPolicy plain = source.policy();
    const SeccompPolicy observed = observing(plain).value();
    for (int number = 0; number < 500; ++number)
      expect_same_calls_let_through(plain, observed, make_call(number, {random(), 0, 2}));
  }
}

TEST(SeccompObserve, TellsOfFilesProgramsAndDestinations) {
  const SeccompPolicy observed = observing(make_profile("default").value()).value();
  const auto kind = [&](int number, std::initializer_list<std::uint64_t> arguments = {}) {
    return observed.decide(make_call(number, arguments)).kind;
  };
  for (const int number : {int{call::open}, int{call::openat}, int{call::execve},
                           int{call::connect}, int{call::rename}, int{call::unlinkat}})
    EXPECT_EQ(kind(number), Verdict::Kind::observe) << number;
  EXPECT_EQ(kind(call::sendto, {3, 0, 0, 0, 0x1000, 16}), Verdict::Kind::observe);
  // What needs no look stays as quick as it was.
  EXPECT_EQ(kind(call::sendto, {3, 0, 0, 0, 0, 0}), Verdict::Kind::allow);
  EXPECT_EQ(kind(call::read), Verdict::Kind::allow);
  EXPECT_EQ(kind(call::newfstatat), Verdict::Kind::allow);
  // The cell's init hands the listener over: an observed call could not be answered yet.
  EXPECT_EQ(kind(call::sendmsg, {3, 0x1000, MSG_NOSIGNAL}), Verdict::Kind::allow);
}

// The narrowest profile for a program is found by what it called: of every call by which two
// profiles differ, the supervisor must be told.
TEST(SeccompObserve, TellsOfEveryCallByWhichProfilesDiffer) {
  const SeccompPolicy widest = observing(make_profile("build").value()).value();
  int differences = 0;
  for (const ProfileText& profile : profile_texts()) {
    const SeccompPolicy other = make_profile(profile.name).value();
    for_many_calls([&](const seccomp_data& call) {
      const Verdict wide = widest.decide(call);
      if (lets_through(other.decide(call))) {
        EXPECT_TRUE(lets_through(wide)) << call.nr << ": build is not the widest";
      } else if (lets_through(wide)) {
        ++differences;
        EXPECT_EQ(wide.kind, Verdict::Kind::observe) << call.nr;
        EXPECT_NE(std::ranges::find(profile_calls(), call.nr), profile_calls().end()) << call.nr;
      }
    });
  }
  EXPECT_GT(differences, 100);
}

// ---- in the kernel

struct Answered {
  int exit_code = -1;
  std::vector<int> looked_at, refused;
};

// A child under the policy, answered as the supervisor does.
Answered run_under(const SeccompPolicy& policy, int (*act)(),
                   const std::function<void(const WaitingCall&, RefusalListener&)>& look) {
  std::vector<sock_filter> program = compile(policy).value();
  const sock_fprog loaded{static_cast<unsigned short>(program.size()), program.data()};
  int go[2];
  EXPECT_EQ(::pipe2(go, O_CLOEXEC), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) ::_exit(100);
    const Sys<int> listener = install_filter(loaded);
    if (!listener || *listener > 255) ::_exit(100);
    const auto number = static_cast<unsigned char>(*listener);
    if (::write(go[1], &number, 1) != 1) ::_exit(100);
    ::_exit(act());
  }
  unsigned char number = 0;
  EXPECT_EQ(::read(go[0], &number, 1), 1);
  const Fd process(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  auto listener = RefusalListener::make(
      Fd(static_cast<int>(::syscall(SYS_pidfd_getfd, process.get(), int{number}, 0))));
  ::close(go[0]);
  ::close(go[1]);

  Answered run;
  pollfd waiting{listener->fd(), POLLIN, 0};
  while (::poll(&waiting, 1, 10'000) == 1 && (waiting.revents & POLLIN) != 0) {
    const auto answered = listener->receive_and_answer(
        policy, look ? [&](const WaitingCall& call) {
          run.looked_at.push_back(call.call.nr);
          EXPECT_EQ(call.thread, child);
          look(call, *listener);
        } : std::function<void(const WaitingCall&)>());
    EXPECT_TRUE(answered);
    if (answered && *answered && (*answered)->refused) run.refused.push_back((*answered)->call.nr);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  if (WIFEXITED(status)) run.exit_code = WEXITSTATUS(status);
  return run;
}

const auto kJustLook = [](const WaitingCall& call, RefusalListener& listener) {
  EXPECT_TRUE(listener.still_waits(call.id));
};

int open_and_mount() {
  const long file = ::syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDONLY);
  if (file < 0) return 1;
  char byte = 0;
  if (::read(static_cast<int>(file), &byte, 1) != 0) return 2;
  if (::mount("none", "/", nullptr, MS_REMOUNT, nullptr) != -1 || errno != EPERM) return 3;
  if (::socket(AF_VSOCK, SOCK_STREAM, 0) != -1 || errno != EAFNOSUPPORT) return 4;
  // A rule with conditions: one side observed, the other refused, by the same notification.
  if (::syscall(SYS_mkdir, "/proc/nowhere/x", S_ISUID | 0755) != -1 || errno != EPERM) return 5;
  if (::syscall(SYS_mkdir, "/proc/nowhere/x", 0755) != -1 || errno != ENOENT) return 6;
  return 0;
}

TEST(SeccompObserve, CarriesOutWhatItObservesAndRefusesWhatIsRefused) {
  const SeccompPolicy policy = observing(make_profile("build").value()).value();
  const Answered run = run_under(policy, open_and_mount, kJustLook);
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.looked_at, (std::vector<int>{SYS_openat, SYS_mkdir}));
  EXPECT_EQ(run.refused, (std::vector<int>{SYS_mount, SYS_socket, SYS_mkdir}));
}

// A supervisor that does not know what to do with an observed call must not let it through.
TEST(SeccompObserve, RefusesWhatNobodyLooksAt) {
  const SeccompPolicy policy = observing(make_profile("build").value()).value();
  const auto act = [] {
    return ::syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDONLY) == -1 && errno == ENOSYS ? 0 : 1;
  };
  const Answered run = run_under(policy, act, nullptr);
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.refused, std::vector<int>{SYS_openat});
}

TEST(SeccompObserve, KnowsWhenTheMakerOfACallHasDiedUnderTheLook) {
  const SeccompPolicy policy = observing(make_profile("build").value()).value();
  bool waited = true;
  const auto look = [&](const WaitingCall& call, RefusalListener& listener) {
    ::kill(call.thread, SIGKILL);
    siginfo_t info{};
    ::waitid(P_PID, static_cast<id_t>(call.thread), &info, WEXITED | WNOWAIT);
    waited = listener.still_waits(call.id);
  };
  const auto act = [] {
    return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDONLY));
  };
  const Answered run = run_under(policy, act, look);
  EXPECT_EQ(run.exit_code, -1);
  EXPECT_FALSE(waited);
  EXPECT_TRUE(run.refused.empty());
}

}  // namespace
}  // namespace sallyport
