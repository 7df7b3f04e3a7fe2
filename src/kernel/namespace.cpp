#include "kernel/namespace.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <cstring>

#include "kernel/syscalls.h"

namespace sallyport {
namespace {

Sys<void> write_file(int dir, const char* path, const char* text, std::size_t size) {
  Fd file(::openat(dir, path, O_WRONLY | O_CLOEXEC));
  if (!file) return sys_fail("openat", path);
  if (::write(file.get(), text, size) != static_cast<ssize_t>(size)) return sys_fail("write", path);
  return {};
}

// "INSIDE OUTSIDE 1"
Sys<void> write_map(int dir, const char* path, unsigned inside, unsigned outside) {
  char text[48];
  char* end = std::to_chars(text, text + sizeof(text), inside).ptr;
  *end++ = ' ';
  end = std::to_chars(end, text + sizeof(text), outside).ptr;
  *end++ = ' ';
  *end++ = '1';
  return write_file(dir, path, text, static_cast<std::size_t>(end - text));
}

}  // namespace

Sys<void> map_uid(int proc, uid_t inside, uid_t outside) {
  return write_map(proc, "self/uid_map", inside, outside);
}

Sys<void> map_gid(int proc, gid_t inside, gid_t outside) {
  if (auto done = write_file(proc, "self/setgroups", "deny", 4); !done) return done;
  return write_map(proc, "self/gid_map", inside, outside);
}

Sys<void> unshare_namespace(int flag, const char* name) {
  if (::unshare(flag) != 0) return sys_fail("unshare", name);
  return {};
}

Sys<void> enter_namespace(int ns, int flag, const char* name) {
  if (::setns(ns, flag) != 0) return sys_fail("setns", name);
  return {};
}

Sys<void> set_hostname(const char* hostname) {
  if (::sethostname(hostname, std::strlen(hostname)) != 0) return sys_fail("sethostname", hostname);
  if (::setdomainname("", 0) != 0) return sys_fail("setdomainname");
  return {};
}

Sys<void> bring_up_loopback() {
  Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return sys_fail("socket", "lo");
  ifreq request{};
  std::memcpy(request.ifr_name, "lo", 3);
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  if (::ioctl(socket.get(), SIOCSIFFLAGS, &request) != 0) return sys_fail("ioctl", "lo up");
  return {};
}

Sys<void> add_loopback_network(std::uint32_t address) {
  Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return sys_fail("socket", "lo");
  ifreq request{};
  std::memcpy(request.ifr_name, "lo:1", 5);  // a second address, not in place of the first
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_addr.s_addr = htonl(address);
  std::memcpy(&request.ifr_addr, &place, sizeof(place));
  if (::ioctl(socket.get(), SIOCSIFADDR, &request) != 0) return sys_fail("ioctl", "lo address");
  place.sin_addr.s_addr = htonl(0xffff'ff00);
  std::memcpy(&request.ifr_netmask, &place, sizeof(place));
  if (::ioctl(socket.get(), SIOCSIFNETMASK, &request) != 0) return sys_fail("ioctl", "lo mask");
  return {};
}

Sys<Fd> make_idmap_namespace(const OwnerMap& map) {
  // The namespace lives as long as a process in it or a descriptor of it; the child only waits to
  // be looked at.
  clone_args args{};
  args.flags = CLONE_NEWUSER | CLONE_PIDFD;
  args.exit_signal = SIGCHLD;
  int pidfd = -1;
  args.pidfd = reinterpret_cast<std::uint64_t>(&pidfd);
  const pid_t parent = ::getpid();
  const pid_t child = sys::clone3(args);
  if (child < 0) return sys_fail("clone3", "user namespace for an idmapped mount");
  if (child == 0) {
    // The launcher may be killed before it gets to end this child, also before these two calls.
    if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || ::getppid() != parent) ::_exit(1);
    for (;;)
      ::pause();
  }
  Fd owner(pidfd);
  auto opened = [&]() -> Sys<Fd> {
    char path[32] = "/proc/";
    *std::to_chars(path + 6, path + sizeof(path), child).ptr = '\0';
    Fd dir(::open(path, O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!dir) return sys_fail("open", "/proc/PID");
    if (auto done = write_map(dir.get(), "uid_map", map.disk_uid, map.shown_uid); !done)
      return std::unexpected(done.error());
    if (auto done = write_map(dir.get(), "gid_map", map.disk_gid, map.shown_gid); !done)
      return std::unexpected(done.error());
    Fd ns(::openat(dir.get(), "ns/user", O_RDONLY | O_CLOEXEC));
    if (!ns) return sys_fail("openat", "ns/user");
    return ns;
  }();
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  return opened;
}

}  // namespace sallyport
