// System calls that a cell refuses, each made for real. Where a call would hurt whoever makes it,
// its arguments are wrong in a way that the kernel finds last; the errnos in `let_through` then
// show that only the argument stood in the way.
#include <asm/ldt.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/io_uring.h>
#include <linux/kcmp.h>
#include <linux/keyctl.h>
#include <linux/landlock.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#include <sched.h>
#include <sys/fanotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/quota.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <initializer_list>
#include <iterator>

#include "probe.h"

namespace probe {
namespace {

// Newer than Debian 12's headers.
constexpr long kStatmount = 457, kListmount = 458, kOpenTreeAttr = 467;
constexpr int kNewTime = 0x80;
constexpr std::uint64_t kNoMount = 1ULL << 40, kAllMounts = ~0ULL;

Verdict judge(const char* call, long result, std::initializer_list<int> let_through = {}) {
  const int error = errno;
  for (const int allowed : let_through)
    if (result < 0 && error == allowed) {
      std::printf("%s: let through (%s)\n", call, std::strerror(error));
      return kWorked;
    }
  errno = error;
  return refused_if_negative(result, call);
}

long number_of(Arguments arguments, std::size_t index) {
  if (index >= arguments.size()) std::exit(kNotTried);
  return std::strtol(arguments[index], nullptr, 0);
}

pid_t process(Arguments arguments) {
  return static_cast<pid_t>(number_of(arguments, 0));
}

// ---- Namespaces

struct Namespace {
  const char* name;  // as in /proc/self/ns
  int flag;
};
constexpr Namespace kNamespaces[] = {{"user", CLONE_NEWUSER}, {"mnt", CLONE_NEWNS},
                                     {"pid", CLONE_NEWPID},   {"net", CLONE_NEWNET},
                                     {"ipc", CLONE_NEWIPC},   {"uts", CLONE_NEWUTS},
                                     {"time", kNewTime},      {"cgroup", CLONE_NEWCGROUP}};

const Namespace& name_space(Arguments arguments) {
  for (const Namespace& known : kNamespaces)
    if (!arguments.empty() && std::string_view(arguments[0]) == known.name) return known;
  std::exit(kNotTried);
}

Verdict made_child(const char* call, long child) {
  if (child == 0) ::_exit(0);
  const Verdict verdict = judge(call, child);
  if (child > 0) ::waitpid(static_cast<pid_t>(child), nullptr, 0);
  return verdict;
}

Verdict clone3_into(Arguments arguments) {
  clone_args args{};
  args.flags = static_cast<std::uint64_t>(name_space(arguments).flag);
  args.exit_signal = SIGCHLD;
  return made_child("clone3", ::syscall(SYS_clone3, &args, sizeof(args)));
}

// One's own namespace again: allowed to root, and it changes nothing.
Verdict setns_into(Arguments arguments) {
  const Namespace& target = name_space(arguments);
  char path[64];
  std::snprintf(path, sizeof(path), "/proc/self/ns/%s", target.name);
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return kNotTried;
  // The kernel never lets anybody enter the user namespace that he is already in.
  if (target.flag == CLONE_NEWUSER) return judge("setns", ::setns(fd, target.flag), {EINVAL});
  return judge("setns", ::setns(fd, target.flag));
}

// ---- Mounts

Verdict set_mount_attributes(long call, const char* name, unsigned flags,
                             std::initializer_list<int> let_through) {
  mount_attr attributes{};
  attributes.attr_set = MOUNT_ATTR_NOSUID;
  return judge(name, ::syscall(call, AT_FDCWD, "/proc", flags, &attributes, sizeof(attributes)),
               let_through);
}

// struct mnt_id_req asks about a mount by number.
Verdict ask_about_mounts(long call, const char* name, std::uint64_t id) {
  struct {
    std::uint32_t size = 24, spare = 0;
    std::uint64_t mount_id = 0, param = 0;
  } request;
  request.mount_id = id;
  static std::uint64_t answer[4096];
  return judge(name, ::syscall(call, &request, answer, std::size(answer), 0),
               {ENOENT, ENOSYS});  // no such mount; a kernel before 6.8
}

// "Shocker": a handle made up from an inode number opens a file that no path leads to.
Verdict open_by_made_up_handle(Arguments) {
  struct {
    file_handle head;
    std::uint32_t inode, generation;
  } handle{};
  handle.head.handle_bytes = 8;
  handle.head.handle_type = 1;
  handle.inode = 2;
  const int root = ::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return judge("open_by_handle_at",
               ::syscall(SYS_open_by_handle_at, root, &handle, O_RDONLY | O_CLOEXEC),
               {ESTALE});  // a file system that numbers its files otherwise
}

Verdict name_to_handle(Arguments) {
  struct {
    file_handle head;
    unsigned char bytes[MAX_HANDLE_SZ];
  } handle{};
  handle.head.handle_bytes = MAX_HANDLE_SZ;
  int mount = 0;
  return judge("name_to_handle_at",
               ::syscall(SYS_name_to_handle_at, AT_FDCWD, "/proc/self/root", &handle, &mount, 0),
               {EOPNOTSUPP});
}

// ---- Other processes

Verdict read_memory(Arguments arguments) {
  char byte = 0;
  const iovec here{&byte, 1}, there{nullptr, 1};
  return judge("process_vm_readv", ::process_vm_readv(process(arguments), &here, 1, &there, 1, 0),
               {EFAULT});
}

Verdict write_memory(Arguments arguments) {
  char byte = 0;
  const iovec here{&byte, 1}, there{nullptr, 1};
  return judge("process_vm_writev", ::process_vm_writev(process(arguments), &here, 1, &there, 1, 0),
               {EFAULT});
}

Verdict steal_descriptor(Arguments arguments) {
  const long pidfd = ::syscall(SYS_pidfd_open, process(arguments), 0);
  if (pidfd < 0) return judge("pidfd_open", pidfd);
  return judge("pidfd_getfd", ::syscall(SYS_pidfd_getfd, pidfd, 0, 0));
}

Verdict be_traced(Arguments) {
  const pid_t child = ::fork();
  if (child == 0) {
    const Verdict verdict = judge("ptrace", ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr));
    std::fflush(stdout);
    ::_exit(verdict);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return static_cast<Verdict>(WEXITSTATUS(status));
}

// ---- Code for the kernel

Verdict make_bpf_map(Arguments) {
  bpf_attr attributes{};
  attributes.map_type = BPF_MAP_TYPE_ARRAY;
  attributes.key_size = 4;
  attributes.value_size = 8;
  attributes.max_entries = 1;
  return judge("bpf", ::syscall(SYS_bpf, BPF_MAP_CREATE, &attributes, sizeof(attributes)));
}

Verdict count_events(Arguments) {
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.size = sizeof(attributes);
  attributes.config = PERF_COUNT_SW_TASK_CLOCK;
  return judge("perf_event_open", ::syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0));
}

Verdict make_ring(Arguments) {
  io_uring_params parameters{};
  return judge("io_uring_setup", ::syscall(SYS_io_uring_setup, 1, &parameters));
}

Verdict make_segment(Arguments) {
  user_desc segment{};
  segment.entry_number = 1;
  segment.limit = 1;
  return judge("modify_ldt", ::syscall(SYS_modify_ldt, 1, &segment, sizeof(segment)));
}

// A filter that allows everything would still come before the cell's own.
Verdict add_filter(bool by_prctl) {
  sock_filter code[] = {{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}};
  const sock_fprog program{1, code};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return kNotTried;
  if (by_prctl) return judge("prctl", ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
  return judge("seccomp", ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
}

// ---- Calls by other ways

// CVE-2019-10063: the kernel looks at 32 bits of the request only. `0x100000000` as a second
// argument sets a bit above them.
Verdict terminal_request(Arguments arguments, unsigned long request, const char* name,
                         std::initializer_list<int> let_through) {
  const int fd = static_cast<int>(number_of(arguments, 0));
  const auto high = static_cast<unsigned long>(number_of(arguments, 1));
  const char typed = 'x';
  return judge(name, ::syscall(SYS_ioctl, fd, request | high, &typed), let_through);
}

// The 32-bit entry of the kernel, where other numbers mean other calls.
Verdict call_i386(Arguments arguments) {
  long result = number_of(arguments, 0);
  asm volatile("int $0x80"
               : "+a"(result)
               : "b"(0), "c"(0), "d"(0)
               : "memory", "r8", "r9", "r10", "r11");
  if (result < 0) {
    errno = static_cast<int>(-result);
    result = -1;
  }
  return judge("int 0x80", result);
}

// All of the given numbers must fail with the given errno; anything else is a call that got in.
// No argument is one that a call could do something with.
Verdict call_numbers(Arguments arguments) {
  const long expected = number_of(arguments, 0);
  Verdict verdict = kRefused;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const long number = number_of(arguments, i);
    errno = 0;
    if (::syscall(number, -1L, -1L, -1L, -1L, -1L, -1L) < 0 && errno == expected) continue;
    std::printf("%ld: %s\n", number, std::strerror(errno));
    verdict = kWorked;
  }
  return verdict;
}

Verdict set_id_mode(Arguments arguments) {
  const std::string_view way = arguments.empty() ? "" : arguments[0];
  constexpr long kFile = 04755, kDirectory = 02755;
  const int file = ::open("plain", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return kNotTried;
  long result = -2;
  if (way == "chmod") result = ::syscall(SYS_chmod, "plain", kFile);
  if (way == "fchmod") result = ::syscall(SYS_fchmod, file, kFile);
  if (way == "fchmodat") result = ::syscall(SYS_fchmodat, AT_FDCWD, "plain", kFile);
  if (way == "open") result = ::syscall(SYS_open, "a", O_WRONLY | O_CREAT, kFile);
  if (way == "openat") result = ::syscall(SYS_openat, AT_FDCWD, "b", O_WRONLY | O_CREAT, kFile);
  if (way == "creat") result = ::syscall(SYS_creat, "c", kFile);
  if (way == "mkdir") result = ::syscall(SYS_mkdir, "d", kDirectory);
  if (way == "mkdirat") result = ::syscall(SYS_mkdirat, AT_FDCWD, "e", kDirectory);
  if (way == "mknod") result = ::syscall(SYS_mknod, "f", S_IFREG | kFile, 0);
  if (way == "mknodat") result = ::syscall(SYS_mknodat, AT_FDCWD, "g", S_IFREG | kFile, 0);
  if (result == -2) return kNotTried;
  return judge(arguments[0], result);
}

// The memory of the machine as a file.
Verdict make_device(Arguments arguments) {
  const long kind = number_of(arguments, 0) == 'c' ? S_IFCHR : S_IFBLK;
  return judge("mknod", ::syscall(SYS_mknod, "device", kind | 0666, 0x101));
}

Verdict flood_with_refusals(Arguments arguments) {
  const long count = number_of(arguments, 0);
  for (long i = 0; i < count; ++i)
    ::syscall(SYS_personality, READ_IMPLIES_EXEC);
  std::printf("made %ld calls\n", count);
  return kWorked;
}

// The kernel stacks sixteen layers of Landlock and no more: who can add all sixteen is under none.
Verdict stack_landlock(Arguments) {
  constexpr int kMost = 16;
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return kNotTried;
  const landlock_ruleset_attr nothing_new{.handled_access_fs = LANDLOCK_ACCESS_FS_MAKE_BLOCK};
  int layers = 0;
  for (; layers <= kMost; ++layers) {
    const long ruleset =
        ::syscall(SYS_landlock_create_ruleset, &nothing_new, sizeof(nothing_new), 0);
    if (ruleset < 0) return kNotTried;
    if (::syscall(SYS_landlock_restrict_self, ruleset, 0) != 0) break;
    ::close(static_cast<int>(ruleset));
  }
  std::printf("%d layers of Landlock could be added\n", layers);
  return layers == kMost ? kWorked : kRefused;
}

// ---- Arguments that are too long for one line of the table

Verdict new_filesystem_context(Arguments) {
  return judge("fsopen", ::syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC));
}

Verdict set_machine_clock(Arguments) {
  const timespec wrong{.tv_sec = 0, .tv_nsec = -1};
  return judge("clock_settime", ::syscall(SYS_clock_settime, CLOCK_REALTIME, &wrong), {EINVAL});
}

Verdict ask_for_clock(long call, const char* name) {
  timex nothing{};
  if (call == SYS_adjtimex) return judge(name, ::syscall(call, &nothing));
  return judge(name, ::syscall(call, CLOCK_REALTIME, &nothing));
}

Verdict give_pages_to_pipe(Arguments) {
  static char page[4096];
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return kNotTried;
  const iovec pages{page, sizeof(page)};
  return judge("vmsplice", ::vmsplice(ends[1], &pages, 1, 0));
}

Verdict open_with_resolve(Arguments) {
  open_how how{};
  how.flags = O_RDONLY | O_CLOEXEC;
  return judge("openat2", ::syscall(SYS_openat2, AT_FDCWD, "/", &how, sizeof(how)));
}

Verdict forge_memory_map(Arguments) {
  unsigned size = 0;
  return judge("prctl", ::prctl(PR_SET_MM, PR_SET_MM_MAP_SIZE, &size, 0, 0));
}

#define CALL(name, what, expression) {"call:" name, what, [](Arguments) { return expression; }}
#define CALL_ON(name, what, expression) \
  {"call:" name, what, [](Arguments words) { return expression; }}

constexpr Attack kAttacks[] = {
    CALL_ON("unshare", "moves into a new namespace NAME",
            judge("unshare", ::unshare(name_space(words).flag))),
    CALL_ON(
        "clone", "starts a child in a new namespace NAME",
        made_child("clone", ::syscall(SYS_clone, name_space(words).flag | SIGCHLD, 0, 0, 0, 0))),
    {"call:clone3", "the same with flags that no filter can see", clone3_into},
    {"call:setns", "enters a namespace NAME by descriptor", setns_into},

    CALL("mount", "mounts a tmpfs", judge("mount", ::mount("x", "/proc", "tmpfs", 0, nullptr))),
    CALL("umount2", "takes /proc away", judge("umount2", ::umount2("/proc", MNT_DETACH))),
    CALL("pivot_root", "changes the root of the namespace",
         judge("pivot_root", ::syscall(SYS_pivot_root, "/proc", "/proc"), {EINVAL, EBUSY})),
    CALL("chroot", "changes its root directory", judge("chroot", ::chroot("/proc"))),
    {"call:fsopen", "begins a new file system", new_filesystem_context},
    CALL("fsconfig", "configures a new file system",
         judge("fsconfig", ::syscall(SYS_fsconfig, 0, 99, nullptr, nullptr, 0),
               {EINVAL, EOPNOTSUPP})),
    CALL("fsmount", "makes a mount of a new file system",
         judge("fsmount", ::syscall(SYS_fsmount, -1, 0, 0), {EBADF})),
    CALL("fspick", "reconfigures a file system",
         judge("fspick", ::syscall(SYS_fspick, AT_FDCWD, "/", 0))),
    CALL("open_tree", "copies the mount tree",
         judge("open_tree", ::syscall(SYS_open_tree, AT_FDCWD, "/", 1))),
    CALL("open_tree_attr", "copies the mount tree with other attributes",
         set_mount_attributes(kOpenTreeAttr, "open_tree_attr", 1, {ENOSYS})),
    CALL("move_mount", "moves a mount",
         judge("move_mount", ::syscall(SYS_move_mount, -1, "", -1, "", 0x44), {EBADF})),
    CALL("mount_setattr", "changes the attributes of a mount",
         set_mount_attributes(SYS_mount_setattr, "mount_setattr", 0, {})),
    CALL("statmount", "asks about a mount by number",
         ask_about_mounts(kStatmount, "statmount", kNoMount)),
    CALL("listmount", "lists the mounts", ask_about_mounts(kListmount, "listmount", kAllMounts)),
    {"call:name_to_handle_at", "names a file without a path", name_to_handle},
    {"call:open_by_handle_at", "opens a file without a path", open_by_made_up_handle},
    CALL("fanotify_init", "begins to watch whole mounts",
         judge("fanotify_init", ::fanotify_init(FAN_CLASS_NOTIF, O_RDONLY))),
    CALL("fanotify_mark", "watches a mount",
         judge("fanotify_mark", ::fanotify_mark(-1, FAN_MARK_ADD, FAN_OPEN, AT_FDCWD, "/"),
               {EBADF})),

    CALL("add_key", "puts a key into a keyring",
         judge("add_key",
               ::syscall(SYS_add_key, "user", "probe", "x", 1, KEY_SPEC_PROCESS_KEYRING))),
    CALL("request_key", "looks for a key",
         judge("request_key", ::syscall(SYS_request_key, "user", "probe", nullptr, 0), {ENOKEY})),
    CALL("keyctl", "asks for the session's keyring",
         judge("keyctl", ::syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 1),
               {ENOKEY})),

    CALL_ON("ptrace_attach", "stops process PID to trace it",
            judge("ptrace", ::ptrace(PTRACE_ATTACH, process(words), nullptr, nullptr))),
    CALL_ON("ptrace_seize", "traces process PID",
            judge("ptrace", ::ptrace(PTRACE_SEIZE, process(words), nullptr, nullptr))),
    {"call:ptrace_traceme", "has its child traced", be_traced},
    {"call:process_vm_readv", "reads memory of process PID", read_memory},
    {"call:process_vm_writev", "writes into memory of process PID", write_memory},
    {"call:pidfd_getfd", "takes a descriptor of process PID", steal_descriptor},
    CALL_ON("kcmp", "compares kernel objects with process PID",
            judge("kcmp", ::syscall(SYS_kcmp, ::getpid(), process(words), KCMP_FS, 0, 0))),
    CALL_ON("move_pages", "asks where pages of process PID are",
            judge("move_pages", ::syscall(SYS_move_pages, process(words), 0, 0, 0, 0, 0))),
    CALL_ON("migrate_pages", "moves pages of process PID",
            judge("migrate_pages",
                  ::syscall(SYS_migrate_pages, process(words), 0, nullptr, nullptr), {EINVAL})),
    CALL("process_madvise", "advises on another's memory",
         judge("process_madvise", ::syscall(SYS_process_madvise, -1, nullptr, 0, 0, 0), {EBADF})),
    CALL("process_mrelease", "reaps another's memory",
         judge("process_mrelease", ::syscall(SYS_process_mrelease, -1, 0), {EBADF})),

    {"call:bpf", "makes a BPF map", make_bpf_map},
    {"call:perf_event_open", "counts its own events", count_events},
    CALL("userfaultfd", "handles its own page faults",
         judge("userfaultfd", ::syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY))),
    {"call:io_uring_setup", "makes a ring for calls that no filter sees", make_ring},
    CALL("io_setup", "makes a queue for native AIO",
         [] {
           unsigned long context = 0;
           return judge("io_setup", ::syscall(SYS_io_setup, 1, &context));
         }()),
    {"call:modify_ldt", "makes a segment", make_segment},
    CALL("init_module", "loads a kernel module",
         judge("init_module", ::syscall(SYS_init_module, "", 0, ""), {ENOEXEC, ENOSYS})),
    CALL("finit_module", "loads a kernel module from a file",
         judge("finit_module", ::syscall(SYS_finit_module, -1, "", 0), {EBADF, ENOSYS})),
    CALL("delete_module", "unloads a kernel module",
         judge("delete_module", ::syscall(SYS_delete_module, "", O_NONBLOCK), {ENOENT, ENOSYS})),
    CALL("kexec_load", "loads another kernel",
         judge("kexec_load", ::syscall(SYS_kexec_load, 0, 99, nullptr, 0), {EINVAL, ENOSYS})),
    CALL("kexec_file_load", "loads another kernel from a file",
         judge("kexec_file_load", ::syscall(SYS_kexec_file_load, -1, -1, 0, nullptr, 0xff),
               {EINVAL, ENOSYS})),
    CALL("seccomp", "adds a filter of its own", add_filter(false)),
    CALL("prctl_seccomp", "adds a filter by the older way", add_filter(true)),
    {"call:prctl_mm", "asks how to forge its memory map", forge_memory_map},
    CALL("personality", "makes all readable memory executable",
         judge("personality", ::personality(READ_IMPLIES_EXEC))),
    CALL("memfd_secret", "makes memory that the host cannot see",
         judge("memfd_secret", ::syscall(SYS_memfd_secret, 0))),
    {"call:vmsplice", "gives pages of its own to a pipe", give_pages_to_pipe},

    CALL("reboot", "restarts the machine",
         judge("reboot", ::syscall(SYS_reboot, 1, 2, 3, nullptr), {EINVAL})),
    CALL("swapon", "adds swap", judge("swapon", ::syscall(SYS_swapon, "/none", 0), {ENOENT})),
    CALL("swapoff", "removes swap", judge("swapoff", ::syscall(SYS_swapoff, "/none"), {ENOENT})),
    CALL("acct", "has every process of the machine recorded",
         judge("acct", ::syscall(SYS_acct, "/none"), {ENOENT})),
    CALL("quotactl", "writes out quotas",
         judge("quotactl", ::syscall(SYS_quotactl, QCMD(Q_SYNC, USRQUOTA), nullptr, 0, nullptr))),
    CALL("quotactl_fd", "changes quotas",
         judge("quotactl_fd", ::syscall(SYS_quotactl_fd, -1, 0, 0, nullptr), {EBADF})),
    CALL("settimeofday", "sets the clock",
         judge("settimeofday", ::syscall(SYS_settimeofday, nullptr, nullptr))),
    {"call:clock_settime", "sets the clock", set_machine_clock},
    CALL("clock_adjtime", "tunes the clock", ask_for_clock(SYS_clock_adjtime, "clock_adjtime")),
    CALL("adjtimex", "tunes the clock", ask_for_clock(SYS_adjtimex, "adjtimex")),
    CALL("sethostname", "renames the machine", judge("sethostname", ::sethostname("taken", 5))),
    CALL("setdomainname", "renames the machine's domain",
         judge("setdomainname", ::setdomainname("taken", 5))),
    CALL("iopl", "takes all I/O ports", judge("iopl", ::syscall(SYS_iopl, 3), {ENOSYS})),
    CALL("ioperm", "takes one I/O port",
         judge("ioperm", ::syscall(SYS_ioperm, 0x80, 1, 1), {ENOSYS})),
    CALL("syslog", "reads the kernel's log", judge("syslog", ::syscall(SYS_syslog, 10, 0, 0))),

    {"call:openat2", "opens with a mode that no filter can see", open_with_resolve},
    {"call:i386", "makes call NUMBER through the 32-bit entry", call_i386},
    CALL("x32", "asks for its pid by the x32 number",
         judge("x32 getpid", ::syscall(0x40000000L | SYS_getpid))),
    {"call:numbers", "makes calls NUMBER… that must all fail with ERRNO", call_numbers},
    CALL_ON("tiocsti", "types into terminal FD", terminal_request(words, TIOCSTI, "TIOCSTI", {})),
    CALL_ON("tioclinux", "pastes into console FD",
            terminal_request(words, TIOCLINUX, "TIOCLINUX", {ENOTTY, EINVAL})),
    {"call:set-id", "makes a set-id file or directory by CALL", set_id_mode},
    {"call:device", "makes a device node of KIND", make_device},
    {"refusal-flood", "makes COUNT refused calls", flood_with_refusals},
    {"landlock-layers", "adds as many layers of Landlock as there is room for", stack_landlock},
};

}  // namespace

std::span<const Attack> kernel_attacks() {
  return kAttacks;
}

}  // namespace probe
