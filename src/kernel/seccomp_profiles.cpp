#include "kernel/seccomp_profiles.h"

#include <asm/ioctls.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/netlink.h>
#include <linux/personality.h>
#include <linux/prctl.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <vector>

#include "kernel/seccomp_sets.h"

#ifndef PR_SET_MDWE  // Linux 6.3
#define PR_SET_MDWE 65
#define PR_GET_MDWE 66
#endif
#ifndef PR_GET_AUXV  // Linux 6.4
#define PR_GET_AUXV 0x41555856
#endif

namespace sallyport {

namespace {

using seccomp::allow;
using seccomp::arg;
using seccomp::Condition;
using seccomp::pretend;
using seccomp::refuse;
using seccomp::Rule;
using seccomp::Value;
using seccomp::when;

// What one profile grants beyond the others.
struct Freedoms {
  bool inet_sockets = true;
  bool path_sockets = true;
  bool system_v_ipc = true;
  bool message_queues = true;
  bool memory_files = true;
  bool fixed_addresses = false;  // turning off address randomisation for a child
};

// A user namespace gives its maker capabilities, and with them most of the kernel's attack surface
// (CVE-2022-0185, CVE-2024-1086). CLONE_NEWTIME has no place among the flags of clone().
Rule may_clone() {
  constexpr std::uint64_t kNewNamespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS |
                                           CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |
                                           CLONE_NEWNET;
  return when(arg(0).has_none(kNewNamespaces), allow()).otherwise(refuse(EPERM));
}

Rule may_unshare() {
  constexpr std::uint64_t kHarmless = CLONE_FS | CLONE_FILES | CLONE_SYSVSEM;
  return when(arg(0).has_none(~kHarmless), allow()).otherwise(refuse(EPERM));
}

// nosuid guards only the cell's own view: a set-id file in a shared directory would work outside.
Condition leaves_set_id_alone(unsigned mode) {
  return arg(mode).has_none(S_ISUID | S_ISGID);
}

Rule may_set_mode(unsigned mode) {
  return when(leaves_set_id_alone(mode), allow()).otherwise(refuse(EPERM));
}

Rule may_open(unsigned flags, unsigned mode) {
  constexpr std::uint64_t kTmpfile = O_TMPFILE & ~O_DIRECTORY;  // the kernel's __O_TMPFILE
  return when(arg(flags).has_none(O_CREAT | kTmpfile) || leaves_set_id_alone(mode), allow())
      .otherwise(refuse(EPERM));
}

Rule may_make_node(unsigned mode) {
  const Condition no_device = arg(mode).masked(S_IFMT).is_one_of({0, S_IFREG, S_IFIFO, S_IFSOCK});
  return when(no_device && leaves_set_id_alone(mode), allow()).otherwise(refuse(EPERM));
}

// RENAME_WHITEOUT leaves a device node behind, which an overlay over the same directory takes for a
// deletion.
Rule may_rename() {
  return when(arg(4).low32().has_none(RENAME_WHITEOUT), allow()).otherwise(refuse(EPERM));
}

// The arguments of socket() and socketpair().
constexpr Value kFamily = arg(0).low32();
constexpr Value kType = arg(1).low32().masked(~std::uint64_t{SOCK_NONBLOCK | SOCK_CLOEXEC});
constexpr Value kProtocol = arg(2).low32();

// By family, kind and protocol, because each exotic one is a driver of its own: vsock reaches the
// hypervisor, MPTCP passes by Landlock's rules for TCP, most of netlink serves administrators.
Rule may_make_socket(const Freedoms& freedoms) {
  const Condition local = kFamily.is(AF_UNIX);
  const Condition inet = kFamily.is_one_of({AF_INET, AF_INET6});
  const Condition netlink = kFamily.is(AF_NETLINK);
  const Condition raw = kType.is_one_of({SOCK_RAW, SOCK_RDM, SOCK_PACKET});

  seccomp::Cases cases =  // getaddrinfo() asks rtnetlink which addresses there are
      when(netlink && kType.is_one_of({SOCK_RAW, SOCK_DGRAM}) && kProtocol.is(NETLINK_ROUTE),
           allow());
  if (freedoms.path_sockets) {
    cases = std::move(cases).when(
        local && kType.is_one_of({SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET}), allow());
  }
  if (freedoms.inet_sockets) {
    cases = std::move(cases)
                .when(inet && kType.is_one_of({SOCK_STREAM, SOCK_DGRAM}) &&
                          kProtocol.is_one_of({0, IPPROTO_TCP, IPPROTO_UDP}),
                      allow())
                .when(inet && raw, refuse(EPERM))
                .when(inet, refuse(EPROTONOSUPPORT));
  }
  return std::move(cases)
      .when(local, refuse(EPERM))
      .when(netlink, refuse(EPROTONOSUPPORT))
      .otherwise(refuse(EAFNOSUPPORT));
}

// A datagram pair can be connected anew, to a path; a stream pair stays what it is. The kernel
// takes SOCK_RAW here for a datagram.
Rule may_make_socket_pair(const Freedoms& freedoms) {
  const Condition kind = freedoms.path_sockets
                             ? kType.is_one_of({SOCK_STREAM, SOCK_SEQPACKET, SOCK_DGRAM})
                             : kType.is_one_of({SOCK_STREAM, SOCK_SEQPACKET});
  return when(kFamily.is(AF_UNIX) && kind, allow())
      .when(kFamily.is(AF_UNIX), refuse(EPERM))
      .otherwise(refuse(EAFNOSUPPORT));
}

// Terminals are the one device through which a cell touches a person: keys put into his shell
// (TIOCSTI, TIOCLINUX's paste), his console output taken away (TIOCCONS), drivers loaded as line
// disciplines (TIOCSETD), and the groups for the keyboard (0x4Bxx) and virtual terminals (0x56xx).
// Beside them, a file system's encryption key would outlive the cell.
Rule may_ioctl() {
  constexpr std::uint64_t kAddEncryptionKey = 0xc050'6617;  // FS_IOC_ADD_ENCRYPTION_KEY
  constexpr Value kRequest = arg(1).low32();
  return when(kRequest.is_one_of({TIOCSTI, TIOCLINUX, TIOCCONS, TIOCSETD, TIOCVHANGUP, TIOCSSERIAL,
                                  kAddEncryptionKey}) ||
                  kRequest.masked(0xffff'ff00).is_one_of({0x4b00, 0x5600}),
              refuse(EPERM))
      .otherwise(allow());
}

// The cell's init has the tool's uid, so the kernel would let the tool slow it down, move it or
// lower its limits: it could be kept from reaping, from speaking, or from living.
constexpr std::uint64_t kInit = 1;

Rule may_schedule() {
  return when(arg(0).low32().is(kInit), refuse(EPERM)).otherwise(allow());
}

Rule may_set_priority() {
  // Of "all processes of a user" init is one. setpriority() and ioprio_set() number the same three
  // kinds differently.
  static_assert(PRIO_USER == 2);
  constexpr std::uint64_t kIoprioUser = 3;
  return when(arg(0).low32().is_one_of({PRIO_USER, kIoprioUser}) || arg(1).low32().is(kInit),
              refuse(EPERM))
      .otherwise(allow());
}

// A core limit of 1 keeps a crash from starting the host's core dump helper; 0 would not.
Rule may_set_limit(unsigned resource) {
  return when(arg(resource).low32().is(RLIMIT_CORE), refuse(EPERM)).otherwise(allow());
}

Rule may_use_prlimit() {
  return when(arg(0).low32().is(kInit), refuse(EPERM))
      .when(arg(2).is(0), allow())
      .when(arg(1).low32().is(RLIMIT_CORE), refuse(EPERM))
      .otherwise(allow());
}

// Options about the caller's own name, limits and hardening. Among those left out: PR_SET_SECCOMP
// (a filter of its own), PR_SET_MM (a forged /proc/self/exe), PR_SET_PTRACER, speculation switches.
Rule may_prctl() {
  constexpr Value kOption = arg(0).low32();
  // clang-format off: one a line otherwise
  const Condition own = kOption.is_one_of({
      PR_SET_NAME, PR_GET_NAME, PR_SET_PDEATHSIG, PR_GET_PDEATHSIG, PR_SET_DUMPABLE,
      PR_GET_DUMPABLE, PR_SET_KEEPCAPS, PR_GET_KEEPCAPS, PR_SET_TIMERSLACK, PR_GET_TIMERSLACK,
      PR_SET_THP_DISABLE, PR_GET_THP_DISABLE, PR_SET_NO_NEW_PRIVS, PR_GET_NO_NEW_PRIVS,
      PR_SET_CHILD_SUBREAPER, PR_GET_CHILD_SUBREAPER, PR_SET_MDWE, PR_GET_MDWE, PR_MCE_KILL,
      PR_MCE_KILL_GET, PR_SET_VMA, PR_GET_AUXV, PR_GET_SECCOMP, PR_GET_SECUREBITS, PR_GET_TSC,
      PR_GET_SPECULATION_CTRL, PR_CAPBSET_READ});
  // clang-format on
  return when(own, allow())
      .when(kOption.is(PR_CAP_AMBIENT) &&
                arg(1).is_one_of({PR_CAP_AMBIENT_IS_SET, PR_CAP_AMBIENT_CLEAR_ALL}),
            allow())
      .otherwise(refuse(EPERM));
}

// Asking (0xffffffff) and the personalities that only change what uname says. The others weaken
// memory protection (READ_IMPLIES_EXEC, MMAP_PAGE_ZERO).
Rule may_change_personality(const Freedoms& freedoms) {
  constexpr Value kPersonality = arg(0).low32();
  constexpr std::uint64_t kUname26 = UNAME26;
  Condition harmless = kPersonality.is_one_of(
      {PER_LINUX, PER_LINUX32, kUname26, kUname26 | PER_LINUX32, 0xffff'ffff});
  if (freedoms.fixed_addresses)
    harmless = std::move(harmless) || kPersonality.is(ADDR_NO_RANDOMIZE);
  return when(std::move(harmless), allow()).otherwise(refuse(EPERM));
}

Result<SeccompPolicy> policy_with(const Freedoms& freedoms) {
  using namespace sets;
  const Rule absent = refuse(ENOSYS);
  return SeccompPolicy::make({
      {kFileContents, allow()},
      {kFileNames, allow()},
      {kFileAttributes, allow()},
      {kMemory, allow()},
      {kProcesses, allow()},
      {kThreads, allow()},
      {kSignals, allow()},
      {kIdentity, allow()},
      {kClocksAndTimers, allow()},
      {kWaitingForEvents, allow()},
      {kLimitsAndPriorities, allow()},
      {kSystemFacts, allow()},
      {kSockets, allow()},
      {kSystemVIpc, freedoms.system_v_ipc ? allow() : absent},
      {call::memfd_create, freedoms.memory_files ? allow() : absent},
      {kMessageQueues, freedoms.message_queues ? allow() : absent},
      {kSelfConfinement, allow()},
      {kHostTracing, allow()},

      {call::open, may_open(1, 2)},
      {call::openat, may_open(2, 3)},
      {call::openat2, pretend(ENOSYS)},  // its mode lies behind a pointer
      {kModeIsArgument1, may_set_mode(1)},
      {kModeIsArgument2, may_set_mode(2)},
      {call::mknod, may_make_node(1)},
      {call::mknodat, may_make_node(2)},
      {call::renameat2, may_rename()},
      {call::clone, may_clone()},
      {call::clone3, pretend(ENOSYS)},  // its flags lie behind a pointer; every libc falls back
      {call::unshare, may_unshare()},
      {call::socket, may_make_socket(freedoms)},
      {call::socketpair, may_make_socket_pair(freedoms)},
      {call::ioctl, may_ioctl()},
      {kScheduling, may_schedule()},
      {kPriorities, may_set_priority()},
      {call::setrlimit, may_set_limit(0)},
      {call::prlimit64, may_use_prlimit()},
      {call::prctl, may_prctl()},
      {call::personality, may_change_personality(freedoms)},

      {kMounts, refuse(EPERM)},
      {kNamespaces, refuse(EPERM)},
      {kOtherProcesses, refuse(EPERM)},
      {kKernelCode, refuse(EPERM)},
      {kKeyrings, refuse(EPERM)},
      {kFilesWithoutPaths, refuse(EPERM)},
      {kMachine, refuse(EPERM)},
      {kOwnFilters, refuse(EPERM)},
      {kRequestRings, absent},
      {kOddMemory, absent},
      {kNotNeededYet, absent},
      {kObsolete, absent},
  });
}

struct Profile {
  ProfileText text;
  Freedoms freedoms;
};

constexpr Profile kProfiles[] = {
    {{"default", "what ordinary programs need: files, processes, threads, local and IP sockets"},
     {}},
    {{"python-data", "default without IP sockets, System V IPC and message queues"},
     {.inet_sockets = false, .system_v_ipc = false, .message_queues = false}},
    {{"node", "default without System V IPC and message queues"},
     {.system_v_ipc = false, .message_queues = false}},
    {{"build", "default, and address randomisation may be turned off, as sanitizers do"},
     {.fixed_addresses = true}},
};

}  // namespace

std::vector<ProfileText> profile_texts() {
  std::vector<ProfileText> texts;
  for (const Profile& profile : kProfiles)
    texts.push_back(profile.text);
  return texts;
}

Result<SeccompPolicy> make_profile(std::string_view name, ProfileOptions options) {
  std::string names;
  for (const Profile& profile : kProfiles) {
    if (profile.text.name == name) {
      Freedoms freedoms = profile.freedoms;
      freedoms.path_sockets = !options.refuse_path_sockets;
      if (options.refuse_unmapped_memory) freedoms.memory_files = freedoms.system_v_ipc = false;
      return policy_with(freedoms);
    }
    names.append(names.empty() ? "" : ", ").append(profile.text.name);
  }
  return fail(Reason::argument, "there is no syscall profile `" + std::string(name) + "`",
              "the profiles are " + names);
}

}  // namespace sallyport
