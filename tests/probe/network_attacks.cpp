// Ways to the network, and to sockets of others.
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "probe.h"

namespace probe {
namespace {

constexpr int kPatience = 20'000;  // ms

const char* word(Arguments arguments, std::size_t index) {
  if (index >= arguments.size()) std::exit(kNotTried);
  return arguments[index];
}

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  [[nodiscard]] int family() const { return storage.ss_family; }
};

// ADDRESS PORT, both families.
Address internet(Arguments arguments) {
  Address address;
  const auto port = htons(static_cast<std::uint16_t>(std::atoi(word(arguments, 1))));
  auto* v4 = reinterpret_cast<sockaddr_in*>(&address.storage);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&address.storage);
  if (::inet_pton(AF_INET, word(arguments, 0), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = port;
    address.size = sizeof(*v4);
  } else {
    address = {};
    if (::inet_pton(AF_INET6, word(arguments, 0), &v6->sin6_addr) != 1) std::exit(kNotTried);
    v6->sin6_family = AF_INET6;
    v6->sin6_port = port;
    address.size = sizeof(*v6);
  }
  return address;
}

// A path, or @NAME for an abstract name.
Address local(const char* name) {
  Address address;
  auto* un = reinterpret_cast<sockaddr_un*>(&address.storage);
  un->sun_family = AF_UNIX;
  std::strncpy(un->sun_path, name, sizeof(un->sun_path) - 1);
  if (name[0] == '@') un->sun_path[0] = '\0';
  address.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + std::strlen(name));
  return address;
}

Verdict connect_to(const Address& address, int kind) {
  const int fd = ::socket(address.family(), kind | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return refused_if_negative(fd, "socket");
  int result = ::connect(fd, address.get(), address.size);
  if (result < 0 && errno == EINPROGRESS) {
    pollfd event{.fd = fd, .events = POLLOUT, .revents = 0};
    socklen_t size = sizeof(errno);
    int error = ETIMEDOUT;
    if (::poll(&event, 1, kPatience) == 1) ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
    errno = error;
    result = error == 0 ? 0 : -1;
  }
  return refused_if_negative(result, "connect");
}

Verdict send_datagram(Arguments arguments) {
  const Address address = internet(arguments);
  const int fd = ::socket(address.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return refused_if_negative(fd, "socket");
  return refused_if_negative(::sendto(fd, "x", 1, 0, address.get(), address.size), "sendto");
}

// socketpair() is often allowed where socket() is not, and a datagram pair can be connected anew.
Verdict reconnect_pair(Arguments arguments) {
  int ends[2];
  if (const int made = ::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends); made < 0)
    return refused_if_negative(made, "socketpair");
  const Address address = local(word(arguments, 0));
  return refused_if_negative(::connect(ends[0], address.get(), address.size), "connect");
}

// A server and a client, with a byte from one to the other.
Verdict talk(const Address& wanted, int kind) {
  Address address = wanted;
  const int server = ::socket(address.family(), kind | SOCK_CLOEXEC, 0);
  if (server < 0) return refused_if_negative(server, "socket");
  if (::bind(server, address.get(), address.size) != 0) return refused_if_negative(-1, "bind");
  address.size = sizeof(address.storage);
  ::getsockname(server, reinterpret_cast<sockaddr*>(&address.storage), &address.size);
  if (kind == SOCK_STREAM && ::listen(server, 1) != 0) return refused_if_negative(-1, "listen");
  const int client = ::socket(address.family(), kind | SOCK_CLOEXEC, 0);
  if (::connect(client, address.get(), address.size) != 0)
    return refused_if_negative(-1, "connect");
  if (::send(client, "x", 1, 0) != 1) return refused_if_negative(-1, "send");
  const int served =
      kind == SOCK_STREAM ? ::accept4(server, nullptr, nullptr, SOCK_CLOEXEC) : server;
  char byte = 0;
  return refused_if_negative(::recv(served, &byte, 1, 0) == 1 ? 0 : -1, "recv");
}

Verdict make_socket(Arguments arguments) {
  const auto number = [&](std::size_t index) {
    return std::strtol(word(arguments, index), nullptr, 0);
  };
  return refused_if_negative(::syscall(SYS_socket, number(0), number(1), number(2)), "socket");
}

// ---- Interfaces

Verdict find_interfaces(Arguments) {
  struct if_nameindex* all = ::if_nameindex();
  if (all == nullptr) return kNotTried;
  Verdict verdict = kRefused;
  for (const auto* one = all; one->if_index != 0; ++one) {
    std::printf("%s\n", one->if_name);
    if (std::strcmp(one->if_name, "lo") != 0) verdict = kWorked;
  }
  ::if_freenameindex(all);
  return verdict;
}

// The answer to one request over rtnetlink: 0 or the kernel's errno, as -1.
int ask_rtnetlink(nlmsghdr& request) {
  const int fd = ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (fd < 0) return -1;
  if (::send(fd, &request, request.nlmsg_len, 0) < 0) return -1;
  alignas(nlmsghdr) char answer[8192];
  const ssize_t size = ::recv(fd, answer, sizeof(answer), 0);
  ::close(fd);
  if (size < static_cast<ssize_t>(sizeof(nlmsghdr))) return -1;
  const auto* header = reinterpret_cast<const nlmsghdr*>(answer);
  if (header->nlmsg_type != NLMSG_ERROR) return 0;
  errno = -static_cast<const nlmsgerr*>(NLMSG_DATA(header))->error;
  return errno == 0 ? 0 : -1;
}

Verdict read_addresses(Arguments) {
  struct {
    nlmsghdr header;
    ifaddrmsg body;
  } request{};
  request.header.nlmsg_len = sizeof(request);
  request.header.nlmsg_type = RTM_GETADDR;
  request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  return refused_if_negative(ask_rtnetlink(request.header), "RTM_GETADDR");
}

Verdict add_address(Arguments) {
  struct {
    nlmsghdr header;
    ifaddrmsg body;
    rtattr attribute;
    in_addr address;
  } request{};
  request.header.nlmsg_len = sizeof(request);
  request.header.nlmsg_type = RTM_NEWADDR;
  request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE;
  request.body.ifa_family = AF_INET;
  request.body.ifa_prefixlen = 32;
  request.body.ifa_index = 1;
  request.attribute.rta_len = RTA_LENGTH(sizeof(in_addr));
  request.attribute.rta_type = IFA_LOCAL;
  ::inet_pton(AF_INET, "198.51.100.7", &request.address);
  return refused_if_negative(ask_rtnetlink(request.header), "RTM_NEWADDR");
}

Verdict take_loopback_down(Arguments) {
  const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  return refused_if_negative(::ioctl(fd, SIOCSIFFLAGS, &request), "SIOCSIFFLAGS");
}

Address loopback(int family) {
  Address address;
  address.storage.ss_family = static_cast<sa_family_t>(family);
  address.size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  if (family == AF_INET)
    reinterpret_cast<sockaddr_in*>(&address.storage)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  else
    reinterpret_cast<sockaddr_in6*>(&address.storage)->sin6_addr = in6addr_loopback;
  return address;
}

constexpr Attack kAttacks[] = {
    {"socket", "makes a socket of FAMILY TYPE PROTOCOL", make_socket},
    {"tcp-connect", "connects to ADDRESS PORT",
     [](Arguments words) { return connect_to(internet(words), SOCK_STREAM); }},
    {"udp-send", "sends a datagram to ADDRESS PORT", send_datagram},
    {"unix-connect", "connects to the socket at PATH or @NAME",
     [](Arguments words) { return connect_to(local(word(words, 0)), SOCK_STREAM); }},
    {"unix-pair-connect", "connects one end of a socket pair to PATH or @NAME", reconnect_pair},
    {"talk-tcp4", "serves and connects on 127.0.0.1",
     [](Arguments) { return talk(loopback(AF_INET), SOCK_STREAM); }},
    {"talk-tcp6", "serves and connects on ::1",
     [](Arguments) { return talk(loopback(AF_INET6), SOCK_STREAM); }},
    {"talk-udp4", "serves and sends on 127.0.0.1",
     [](Arguments) { return talk(loopback(AF_INET), SOCK_DGRAM); }},
    {"talk-udp6", "serves and sends on ::1",
     [](Arguments) { return talk(loopback(AF_INET6), SOCK_DGRAM); }},
    {"talk-unix", "serves and connects at PATH or @NAME",
     [](Arguments words) { return talk(local(word(words, 0)), SOCK_STREAM); }},
    {"interfaces", "finds an interface beside loopback", find_interfaces},
    {"netlink-read", "asks rtnetlink for all addresses", read_addresses},
    {"netlink-write", "gives loopback another address", add_address},
    {"loopback-down", "takes loopback down", take_loopback_down},
};

}  // namespace

std::span<const Attack> network_attacks() {
  return kAttacks;
}

}  // namespace probe
