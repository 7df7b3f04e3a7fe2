#include "kernel/seccomp_profiles.h"

#include <asm/ioctls.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/fs.h>
#include <linux/netlink.h>
#include <linux/prctl.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <chrono>
#include <iostream>
#include <set>

#include "kernel/seccomp_calls.h"
#include "kernel/seccomp_compile.h"
#include "kernel/seccomp_evaluate.h"
#include "kernel/seccomp_make_call.h"
#include "kernel/seccomp_names.h"

namespace sallyport {
namespace {

using seccomp::allow;
using seccomp::pretend;
using seccomp::refuse;
using seccomp::Verdict;

constexpr std::uint64_t kUpper = std::uint64_t{1} << 32;
constexpr std::uint64_t kTmpfile = O_TMPFILE;

class Profile {
 public:
  explicit Profile(std::string_view name, ProfileOptions options = {})
      : policy_(make_profile(name, options).value()), program_(compile(policy_).value()) {}

  // The verdict must come from both: the program decides, the policy answers with the errno.
  void expect(Verdict verdict, int number, std::initializer_list<std::uint64_t> arguments = {}) {
    const seccomp_data call = make_call(number, arguments);
    EXPECT_EQ(evaluate(program_, call), action_of(verdict)) << show(call);
    EXPECT_EQ(policy_.decide(call).error, verdict.error) << show(call);
  }

  [[nodiscard]] const SeccompPolicy& policy() const { return policy_; }

 private:
  static std::string show(const seccomp_data& call) {
    std::string text = name_of_call(call) + "(";
    for (const std::uint64_t argument : call.args)
      text += std::to_string(argument) + " ";
    return text + ")";
  }

  SeccompPolicy policy_;
  std::vector<sock_filter> program_;
};

TEST(SeccompProfiles, DecideEveryCallOfTheTableByName) {
  for (const ProfileText& text : profile_texts()) {
    const Profile profile(text.name);
    for (int number = 0; const std::string_view name : call_names()) {
      EXPECT_EQ(profile.policy().find(number) != nullptr, !name.empty())
          << text.name << ": " << name << " " << number;
      ++number;
    }
  }
}

TEST(SeccompProfiles, AreListedWithTheDefaultFirstAndNamedWhenAnUnknownOneIsAskedFor) {
  std::set<std::string_view> names;
  for (const ProfileText& text : profile_texts()) {
    names.insert(text.name);
    EXPECT_FALSE(text.sentence.empty());
  }
  EXPECT_EQ(names, (std::set<std::string_view>{"default", "python-data", "node", "build"}));
  EXPECT_EQ(profile_texts().front().name, "default");

  const auto unknown = make_profile("strict");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().reason, Reason::argument);
  EXPECT_EQ(unknown.error().message, "there is no syscall profile `strict`");
  EXPECT_EQ(unknown.error().hint, "the profiles are default, python-data, node, build");
}

TEST(SeccompProfiles, FitTheKernelEasily) {
  for (const ProfileText& text : profile_texts()) {
    const auto start = std::chrono::steady_clock::now();
    const SeccompPolicy policy = make_profile(text.name).value();
    const auto made = std::chrono::steady_clock::now();
    const auto program = compile(policy);
    const auto compiled = std::chrono::steady_clock::now();
    ASSERT_TRUE(program) << program.error().message;
    EXPECT_LT(program->size(), 512u);
    const auto us = [](auto duration) {
      return std::chrono::duration_cast<std::chrono::microseconds>(duration).count();
    };
    std::cout << text.name << ": " << program->size() << " instructions, made in "
              << us(made - start) << " us, compiled in " << us(compiled - made) << " us\n";
  }
}

// The kernel answers these from its bitmap, without running the program.
TEST(SeccompProfiles, AllowTheBusyCallsWhateverTheirArguments) {
  const Profile profile("default");
  for (const int number : {call::read, call::write, call::close, call::fstat, call::newfstatat,
                           call::mmap, call::futex, call::epoll_wait, call::clock_gettime,
                           call::sendmsg, call::recvmsg, call::poll}) {
    const seccomp::Rule* rule = profile.policy().find(number);
    ASSERT_NE(rule, nullptr);
    EXPECT_TRUE(rule->clauses.empty() && rule->otherwise == allow()) << number;
  }
}

// PID 1 of the cell starts the tool from under the same filter.
TEST(SeccompProfiles, LetTheCellsInitDoItsWork) {
  for (const ProfileText& text : profile_texts()) {
    Profile profile(text.name, {.refuse_path_sockets = true});
    for (const int number : {call::vfork,
                             call::wait4,
                             call::waitid,
                             call::ppoll,
                             call::sendmsg,
                             call::close,
                             call::close_range,
                             call::dup2,
                             call::dup3,
                             call::setsid,
                             call::rt_sigaction,
                             call::rt_sigprocmask,
                             call::rt_sigreturn,
                             call::rt_sigsuspend,
                             call::prlimit64,
                             call::execve,
                             call::execveat,
                             call::exit_group,
                             call::read,
                             call::write,
                             call::signalfd4,
                             call::getpid,
                             call::kill,
                             call::pidfd_open,
                             call::set_robust_list,
                             call::rseq})
      profile.expect(allow(), number);
    profile.expect(allow(), call::clone, {CLONE_VM | CLONE_VFORK | SIGCHLD});
  }
}

TEST(SeccompProfiles, AllowProcessesAndThreadsButNoNamespaces) {
  Profile profile("default");
  profile.expect(allow(), call::clone, {SIGCHLD});
  profile.expect(allow(), call::clone,
                 {CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
                  CLONE_SETTLS});
  for (const std::uint64_t flag : {CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC,
                                   CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET}) {
    profile.expect(refuse(EPERM), call::clone, {flag | SIGCHLD});
    profile.expect(refuse(EPERM), call::clone, {flag | SIGCHLD | kUpper});
    profile.expect(refuse(EPERM), call::unshare, {flag});
  }
  profile.expect(allow(), call::unshare, {CLONE_FS | CLONE_FILES | CLONE_SYSVSEM});
  profile.expect(refuse(EPERM), call::unshare, {CLONE_NEWTIME});
  profile.expect(refuse(EPERM), call::unshare, {kUpper});
  profile.expect(refuse(EPERM), call::setns);
  profile.expect(pretend(ENOSYS), call::clone3);
}

TEST(SeccompProfiles, AllowOrdinarySocketsOnly) {
  Profile profile("default");
  for (const std::uint64_t flags : {0, static_cast<int>(SOCK_NONBLOCK),
                                    static_cast<int>(SOCK_CLOEXEC), SOCK_NONBLOCK | SOCK_CLOEXEC}) {
    for (const std::uint64_t family : {AF_INET, AF_INET6}) {
      profile.expect(allow(), call::socket, {family, SOCK_STREAM | flags, 0});
      profile.expect(allow(), call::socket, {family, SOCK_STREAM | flags, IPPROTO_TCP});
      profile.expect(allow(), call::socket, {family, SOCK_DGRAM | flags, IPPROTO_UDP});
      profile.expect(refuse(EPERM), call::socket, {family, SOCK_RAW | flags, IPPROTO_ICMP});
      profile.expect(refuse(EPERM), call::socket, {family, SOCK_RAW | flags, IPPROTO_RAW});
      profile.expect(refuse(EPERM), call::socket, {family, SOCK_PACKET | flags, 0});
      for (const std::uint64_t protocol :
           {IPPROTO_ICMP, IPPROTO_SCTP, IPPROTO_UDPLITE, IPPROTO_MPTCP})
        profile.expect(refuse(EPROTONOSUPPORT), call::socket,
                       {family, SOCK_DGRAM | flags, protocol});
    }
    profile.expect(allow(), call::socket, {AF_NETLINK, SOCK_RAW | flags, NETLINK_ROUTE});
    profile.expect(allow(), call::socket, {AF_NETLINK, SOCK_DGRAM | flags, NETLINK_ROUTE});
    profile.expect(refuse(EPROTONOSUPPORT), call::socket,
                   {AF_NETLINK, SOCK_RAW | flags, NETLINK_NETFILTER});
    for (const std::uint64_t kind : {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET}) {
      profile.expect(allow(), call::socket, {AF_UNIX, kind | flags, 0});
      profile.expect(allow(), call::socketpair, {AF_UNIX, kind | flags, 0});
    }
    profile.expect(refuse(EPERM), call::socket, {AF_UNIX, SOCK_RAW | flags, 0});
    profile.expect(refuse(EPERM), call::socketpair, {AF_UNIX, SOCK_RAW | flags, 0});
  }
  for (const std::uint64_t family : {AF_UNSPEC, AF_VSOCK, AF_PACKET, AF_ALG, AF_BLUETOOTH, AF_CAN,
                                     AF_TIPC, AF_XDP, AF_SMC, AF_KCM, AF_RDS, AF_KEY, 200}) {
    profile.expect(refuse(EAFNOSUPPORT), call::socket, {family, SOCK_STREAM, 0});
    profile.expect(refuse(EAFNOSUPPORT), call::socketpair, {family, SOCK_STREAM, 0});
  }
}

TEST(SeccompProfiles, ComparesSocketArgumentsAsTheKernelTakesThem) {
  Profile profile("default");
  profile.expect(allow(), call::socket, {AF_INET | kUpper, SOCK_STREAM | kUpper, kUpper});
  profile.expect(refuse(EAFNOSUPPORT), call::socket, {AF_VSOCK | kUpper, SOCK_STREAM, 0});
  profile.expect(refuse(EPERM), call::socket, {AF_INET, SOCK_RAW | kUpper, 0});
  profile.expect(refuse(EPROTONOSUPPORT), call::socket,
                 {AF_INET, SOCK_STREAM, IPPROTO_MPTCP | kUpper});
}

TEST(SeccompProfiles, RefuseSocketsThatCouldReachAPathWhenHostDirectoriesAreShared) {
  Profile profile("default", {.refuse_path_sockets = true});
  for (const std::uint64_t kind : {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET, SOCK_RAW})
    profile.expect(refuse(EPERM), call::socket, {AF_UNIX, kind | SOCK_CLOEXEC, 0});
  profile.expect(allow(), call::socketpair, {AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0});
  profile.expect(allow(), call::socketpair, {AF_UNIX, SOCK_SEQPACKET, 0});
  profile.expect(refuse(EPERM), call::socketpair, {AF_UNIX, SOCK_DGRAM, 0});
  profile.expect(refuse(EPERM), call::socketpair, {AF_UNIX, SOCK_RAW, 0});
  profile.expect(allow(), call::socket, {AF_INET, SOCK_STREAM, 0});
}

TEST(SeccompProfiles, LeaveTheCellsInitItsLimitsAndItsTimeOnTheCpu) {
  Profile profile("default");
  for (const int number : {call::sched_setscheduler, call::sched_setparam, call::sched_setattr,
                           call::sched_setaffinity}) {
    profile.expect(allow(), number, {0});
    profile.expect(allow(), number, {2});
    profile.expect(refuse(EPERM), number, {1});
    profile.expect(refuse(EPERM), number, {1 | kUpper});
  }
  profile.expect(allow(), call::setpriority, {PRIO_PROCESS, 0, 10});
  profile.expect(refuse(EPERM), call::setpriority, {PRIO_PROCESS, 1, 10});
  profile.expect(refuse(EPERM), call::setpriority, {PRIO_PGRP, 1, 10});
  profile.expect(refuse(EPERM), call::setpriority, {PRIO_USER, 0, 10});
  profile.expect(refuse(EPERM), call::ioprio_set, {3, 1000, 0});
  profile.expect(allow(), call::prlimit64, {0, RLIMIT_NOFILE, 4096});
  profile.expect(refuse(EPERM), call::prlimit64, {1, RLIMIT_NOFILE, 4096});
}

TEST(SeccompProfiles, KeepTheCoreLimitThatStopsTheHostsHelper) {
  Profile profile("default");
  profile.expect(allow(), call::prlimit64, {0, RLIMIT_CORE, 0, 4096});
  profile.expect(refuse(EPERM), call::prlimit64, {0, RLIMIT_CORE, 4096});
  profile.expect(refuse(EPERM), call::setrlimit, {RLIMIT_CORE, 4096});
  profile.expect(allow(), call::setrlimit, {RLIMIT_NOFILE, 4096});
}

TEST(SeccompProfiles, RefuseMemoryThatNobodyCountsWithoutACgroup) {
  Profile counted("default");
  Profile uncounted("default", {.refuse_unmapped_memory = true});
  for (const int number : {call::memfd_create, call::shmget, call::msgget}) {
    counted.expect(allow(), number, {});
    uncounted.expect(refuse(ENOSYS), number, {});
  }
  uncounted.expect(allow(), call::mmap, {});
}

TEST(SeccompProfiles, KeepTheCellAwayFromThePersonsTerminal) {
  Profile profile("default");
  constexpr std::uint64_t kSetKeyMap = 0x4b47;      // KDSKBENT
  constexpr std::uint64_t kSwitchConsole = 0x5606;  // VT_ACTIVATE
  for (const std::uint64_t request :
       {std::uint64_t{TIOCSTI}, std::uint64_t{TIOCLINUX}, std::uint64_t{TIOCSETD},
        std::uint64_t{TIOCCONS}, std::uint64_t{TIOCVHANGUP}, std::uint64_t{TIOCSSERIAL}, kSetKeyMap,
        kSwitchConsole}) {
    profile.expect(refuse(EPERM), call::ioctl, {0, request});
    profile.expect(refuse(EPERM), call::ioctl, {0, request | kUpper});  // CVE-2019-10063
  }
  for (const std::uint64_t request : {TCGETS, TIOCGWINSZ, TIOCSCTTY, FIONREAD, FIOCLEX})
    profile.expect(allow(), call::ioctl, {0, request});
  profile.expect(allow(), call::ioctl, {0, 0x8004'5600});  // a device's own request
}

TEST(SeccompProfiles, LeaveNoSetIdFileBehind) {
  Profile profile("default");
  struct ModeCall {
    int number;
    std::initializer_list<std::uint64_t> plain, set_uid, set_gid;
  };
  constexpr std::uint64_t kCreate = O_CREAT | O_WRONLY;
  for (const ModeCall& call : {
           ModeCall{call::chmod, {0, 01777}, {0, 04755}, {0, 02755}},
           ModeCall{call::fchmod, {0, 01777}, {0, 04755}, {0, 02755}},
           ModeCall{call::creat, {0, 0644}, {0, 04644}, {0, 02644}},
           ModeCall{call::mkdir, {0, 01777}, {0, 04755}, {0, 02755}},
           ModeCall{call::mkdirat, {0, 0, 0755}, {0, 0, 04755}, {0, 0, 02755}},
           ModeCall{call::fchmodat, {0, 0, 0755}, {0, 0, 04755}, {0, 0, 02755}},
           ModeCall{call::fchmodat2, {0, 0, 0755}, {0, 0, 04755}, {0, 0, 02755}},
           ModeCall{call::open, {0, kCreate, 0644}, {0, kCreate, 04644}, {0, kCreate, 02644}},
           ModeCall{call::open, {0, kTmpfile, 0644}, {0, kTmpfile, 04644}, {0, kTmpfile, 02644}},
           ModeCall{
               call::openat, {0, 0, kCreate, 0644}, {0, 0, kCreate, 04644}, {0, 0, kCreate, 02644}},
           ModeCall{call::openat,
                    {0, 0, kTmpfile, 0644},
                    {0, 0, kTmpfile, 04644},
                    {0, 0, kTmpfile, 02644}},
           ModeCall{call::mknod, {0, S_IFREG | 0644}, {0, S_IFREG | 04644}, {0, 02644}},
           ModeCall{call::mknodat, {0, 0, S_IFREG | 0644}, {0, 0, S_IFREG | 04644}, {0, 0, 02644}},
       }) {
    profile.expect(allow(), call.number, call.plain);
    profile.expect(refuse(EPERM), call.number, call.set_uid);
    profile.expect(refuse(EPERM), call.number, call.set_gid);
  }
  // Without O_CREAT the kernel ignores the mode, and what is in the register is anything.
  profile.expect(allow(), call::open, {0, O_RDONLY, 06000});
  profile.expect(allow(), call::openat, {0, 0, O_RDONLY | O_DIRECTORY, 06000});
  profile.expect(pretend(ENOSYS), call::openat2);
}

TEST(SeccompProfiles, MakeFifosAndSocketsButNoDevices) {
  Profile profile("default");
  for (const std::uint64_t type : {0, S_IFREG, S_IFIFO, S_IFSOCK}) {
    profile.expect(allow(), call::mknod, {0, type | 0600});
    profile.expect(allow(), call::mknodat, {0, 0, type | 0600});
  }
  for (const std::uint64_t type : {S_IFCHR, S_IFBLK, S_IFDIR}) {
    profile.expect(refuse(EPERM), call::mknod, {0, type | 0600});
    profile.expect(refuse(EPERM), call::mknodat, {0, 0, type | 0600 | kUpper});
  }
}

TEST(SeccompProfiles, RenameWithoutLeavingADeviceBehind) {
  Profile profile("default");
  for (const std::uint64_t flags : {0, RENAME_NOREPLACE, RENAME_EXCHANGE})
    profile.expect(allow(), call::renameat2, {0, 0, 0, 0, flags});
  profile.expect(refuse(EPERM), call::renameat2, {0, 0, 0, 0, RENAME_WHITEOUT});
  profile.expect(refuse(EPERM), call::renameat2, {0, 0, 0, 0, RENAME_WHITEOUT | kUpper});
}

TEST(SeccompProfiles, AllowProcessOptionsThatConcernOnlyTheCaller) {
  Profile profile("default");
  for (const std::uint64_t option :
       {PR_SET_NAME, PR_GET_NAME, PR_SET_PDEATHSIG, PR_GET_DUMPABLE, PR_SET_NO_NEW_PRIVS,
        PR_SET_CHILD_SUBREAPER, PR_CAPBSET_READ, PR_SET_VMA, PR_GET_SECCOMP})
    profile.expect(allow(), call::prctl, {option});
  for (const std::uint64_t option :
       {PR_SET_SECCOMP, PR_SET_MM, PR_SET_PTRACER, PR_SET_SPECULATION_CTRL, PR_CAPBSET_DROP,
        PR_SET_SECUREBITS, PR_SET_TSC, PR_SET_SYSCALL_USER_DISPATCH, 0}) {
    profile.expect(refuse(EPERM), call::prctl, {option});
    profile.expect(refuse(EPERM), call::prctl, {option | kUpper});
  }
  profile.expect(allow(), call::prctl, {PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET});
  profile.expect(allow(), call::prctl, {PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL});
  profile.expect(refuse(EPERM), call::prctl, {PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE});
  profile.expect(refuse(EPERM), call::prctl, {PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET | kUpper});
}

TEST(SeccompProfiles, LetOnlyBuildsTurnOffAddressRandomisation) {
  constexpr std::uint64_t kAddrNoRandomize = 0x40000;
  for (const ProfileText& text : profile_texts()) {
    Profile profile(text.name);
    for (const std::uint64_t persona : {0u, 8u, 0x20000u, 0x20008u, 0xffff'ffffu})
      profile.expect(allow(), call::personality, {persona});
    for (const std::uint64_t persona : {1u, 0x40'0000u, 0x10'0000u, 0x40008u})
      profile.expect(refuse(EPERM), call::personality, {persona});
    profile.expect(text.name == "build" ? allow() : refuse(EPERM), call::personality,
                   {kAddrNoRandomize});
  }
}

TEST(SeccompProfiles, RefuseTheKernelsDangerousDoors) {
  for (const ProfileText& text : profile_texts()) {
    Profile profile(text.name);
    for (const int number : {call::mount,
                             call::umount2,
                             call::pivot_root,
                             call::open_tree,
                             call::move_mount,
                             call::fsopen,
                             call::fsconfig,
                             call::fsmount,
                             call::fspick,
                             call::mount_setattr,
                             call::open_tree_attr,
                             call::statmount,
                             call::listmount,
                             call::chroot,
                             call::ptrace,
                             call::process_vm_readv,
                             call::process_vm_writev,
                             call::process_madvise,
                             call::pidfd_getfd,
                             call::kcmp,
                             call::bpf,
                             call::perf_event_open,
                             call::keyctl,
                             call::add_key,
                             call::request_key,
                             call::userfaultfd,
                             call::init_module,
                             call::finit_module,
                             call::delete_module,
                             call::kexec_load,
                             call::kexec_file_load,
                             call::reboot,
                             call::swapon,
                             call::swapoff,
                             call::acct,
                             call::quotactl,
                             call::quotactl_fd,
                             call::settimeofday,
                             call::clock_settime,
                             call::clock_adjtime,
                             call::adjtimex,
                             call::sethostname,
                             call::setdomainname,
                             call::iopl,
                             call::ioperm,
                             call::modify_ldt,
                             call::syslog,
                             call::vhangup,
                             call::open_by_handle_at,
                             call::name_to_handle_at,
                             call::fanotify_init,
                             call::fanotify_mark,
                             call::lookup_dcookie,
                             call::nfsservctl,
                             call::uselib,
                             call::_sysctl,
                             call::seccomp,
                             call::listns})
      profile.expect(refuse(EPERM), number);
    for (const int number :
         {call::io_uring_setup, call::io_uring_enter, call::io_uring_register, call::io_setup,
          call::io_submit, call::memfd_secret, call::vmsplice, call::cachestat, call::tuxcall})
      profile.expect(refuse(ENOSYS), number);
    profile.expect(refuse(ENOSYS), 500);
  }
}

TEST(SeccompProfiles, DifferInSocketsAndIpcAsTheirSentencesSay) {
  struct Difference {
    const char* profile;
    bool inet, ipc;
  };
  for (const Difference& difference :
       {Difference{"default", true, true}, Difference{"python-data", false, false},
        Difference{"node", true, false}, Difference{"build", true, true}}) {
    Profile profile(difference.profile);
    const Verdict ipc = difference.ipc ? allow() : refuse(ENOSYS);
    for (const int number :
         {call::shmget, call::shmat, call::semop, call::msgget, call::mq_open, call::mq_timedsend})
      profile.expect(ipc, number);
    for (const std::uint64_t family : {AF_INET, AF_INET6})
      profile.expect(difference.inet ? allow() : refuse(EAFNOSUPPORT), call::socket,
                     {family, SOCK_STREAM, IPPROTO_TCP});
    profile.expect(allow(), call::socket, {AF_UNIX, SOCK_STREAM, 0});
    profile.expect(allow(), call::socketpair, {AF_UNIX, SOCK_STREAM, 0});
  }
}

}  // namespace
}  // namespace sallyport
