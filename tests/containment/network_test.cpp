// A cell has a loopback of its own and no other network: nothing of the host's answers, nothing
// outside is there, and nobody outside reaches in.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>

#include "support/live_process.h"

namespace sallyport::test {
namespace {

using Words = std::vector<std::string>;

constexpr const char* kUnreachable = "Network is unreachable";

// A socket of the host on which nobody of a cell should ever be heard.
class HostSocket {
 public:
  // On every address of the host, both families.
  static HostSocket internet(int kind) {
    HostSocket made(AF_INET6, kind);
    sockaddr_in6 any{};
    any.sin6_family = AF_INET6;
    socklen_t size = sizeof(any);
    const int both = 0;
    ::setsockopt(made.fd(), IPPROTO_IPV6, IPV6_V6ONLY, &both, sizeof(both));
    made.serve(reinterpret_cast<sockaddr*>(&any), size, kind);
    EXPECT_EQ(::getsockname(made.fd(), reinterpret_cast<sockaddr*>(&any), &size), 0);
    made.port_ = std::to_string(ntohs(any.sin6_port));
    return made;
  }
  // At a path, or at @NAME.
  static HostSocket local(const std::string& name, int kind = SOCK_STREAM) {
    HostSocket made(AF_UNIX, kind);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    name.copy(address.sun_path, sizeof(address.sun_path) - 1);
    if (name.starts_with('@')) address.sun_path[0] = '\0';
    const auto size = offsetof(sockaddr_un, sun_path) + name.size();
    made.serve(reinterpret_cast<sockaddr*>(&address), static_cast<socklen_t>(size), kind);
    return made;
  }
  [[nodiscard]] const std::string& port() const { return port_; }
  // How many have connected, or sent something, since it was last asked.
  [[nodiscard]] int heard() const {
    int count = 0;
    char byte = 0;
    for (;; ++count) {
      const Fd peer(::accept4(fd(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!peer && ::recv(fd(), &byte, 1, 0) < 0) return count;
    }
  }

 private:
  HostSocket(int family, int kind)
      : socket_(::socket(family, kind | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {}
  void serve(const sockaddr* address, socklen_t size, int kind) {
    EXPECT_EQ(::bind(fd(), address, size), 0) << std::strerror(errno);
    if (kind == SOCK_STREAM) EXPECT_EQ(::listen(fd(), 64), 0);
  }
  [[nodiscard]] int fd() const { return socket_.get(); }
  Fd socket_;
  std::string port_;
};

class Network : public CellTest {
 protected:
  // The probe as a file of the scratch. Where the cell shows no tree of the host, unix sockets are
  // allowed.
  static Ran probe_from_scratch(const Words& attack) {
    std::string script = "chmod +x probe && exec ./probe";
    for (const std::string& word : attack)
      script.append(" ").append(word);
    return run_cell(GetParam(), {"--in", probe_path() + ":probe", "--", "sh", "-c", script});
  }
};
SALLYPORT_FOR_ROOT_AND_USER(Network);

// ---- Sockets

struct SocketKind {
  const char* what;
  const char *family, *type, *protocol;
  bool everywhere = true;  // any kernel has it; the others only where it was built in
};

constexpr SocketKind kExotic[] = {
    {"vsock reaches the hypervisor", "40", "1", "0"},
    {"vsock with a bit that the kernel drops", "0x100000028", "1", "0"},
    {"packet", "17", "3", "0x300"},
    {"packet, of datagrams", "17", "2", "0x300"},
    {"packet, the old way", "2", "10", "0x300"},
    {"raw IPv4", "2", "3", "1"},
    {"raw IPv4, close on exec", "2", "0x80003", "255"},
    {"raw IPv6", "10", "3", "58"},
    {"xdp", "44", "3", "0"},
    {"mptcp passes by Landlock", "2", "1", "262"},
    {"mptcp over IPv6", "10", "1", "262"},
    {"udplite", "2", "2", "136"},
    {"netlink to other processes", "16", "3", "2"},
    {"netlink: socket diagnosis", "16", "3", "4"},
    {"netlink: ipsec", "16", "3", "6"},
    {"netlink: audit", "16", "3", "9"},
    {"netlink: netfilter", "16", "3", "12"},
    {"netlink: device events", "16", "3", "15"},
    {"netlink: generic", "16", "3", "16"},
    {"netlink: generic, with a bit that the kernel drops", "16", "3", "0x100000010"},
    {"netlink: rdma", "16", "3", "20", false},
    {"netlink: crypto", "16", "3", "21", false},
    {"netlink: scsi", "16", "3", "18", false},
    {"netlink: iscsi", "16", "3", "8", false},
    {"netlink: connector", "16", "3", "11", false},
    {"the kernel's ciphers", "38", "5", "0", false},
    {"sctp", "2", "1", "132", false},
    {"sctp messages", "2", "5", "132", false},
    {"dccp", "2", "6", "33", false},
    {"l2tp", "2", "2", "115", false},
    {"bluetooth", "31", "3", "1", false},
    {"ipsec keys", "15", "3", "2", false},
    {"tipc", "30", "5", "0", false},
    {"can", "29", "3", "1", false},
    {"rds", "21", "5", "0", false},
    {"smc", "43", "1", "0", false},
    {"kcm", "41", "5", "0", false},
    {"qualcomm router", "42", "2", "0", false},
    {"nfc", "39", "5", "0", false},
    {"x25", "9", "5", "0", false},
    {"ax25", "3", "5", "0", false},
    {"appletalk", "5", "2", "0", false},
    {"phonet", "35", "2", "0", false},
    {"ieee802154", "36", "2", "0", false},
    {"mctp", "45", "2", "0", false},
    {"llc", "26", "1", "0", false},
    {"pppox", "24", "1", "0", false},
    {"isdn", "34", "3", "0", false},
};

// "AF_VSOCK / AF_NETLINK / AF_PACKET / AF_ALG outside of net-ns thinking". Where this kernel lacks
// a family the report shows that the filter, and not the kernel, has answered.
TEST_P(Network, SocketsOfExoticKindsCannotBeMade) {
  for (const SocketKind& kind : kExotic) {
    SCOPED_TRACE(kind.what);
    const Words attack = {"socket", kind.family, kind.type, kind.protocol};
    if (kind.everywhere) EXPECT_TRUE(attack_worked(probe_outside(attack)));
    const Ran inside = probe_in_cell(GetParam(), attack, {"--json"});
    EXPECT_TRUE(attack_refused(inside));
    EXPECT_EQ(inside.json().at("limits_hit"), boost::json::array{"syscall:socket"});
  }
}

// Hosts may let everybody ping; a network namespace begins with nobody.
TEST_P(Network, PingSocketsCannotBeMade) {
  const Ran outside = run(
      {"unshare", "--net", "sh", "-c",
       "echo 0 0 > /proc/sys/net/ipv4/ping_group_range && exec " + probe_path() + " socket 2 2 1"});
  EXPECT_TRUE(attack_worked(outside));
  for (const Words& attack : {Words{"socket", "2", "2", "1"}, Words{"socket", "10", "2", "58"}}) {
    const Ran inside = probe_in_cell(GetParam(), attack, {"--json"});
    EXPECT_TRUE(attack_refused(inside));
    EXPECT_EQ(inside.json().at("limits_hit"), boost::json::array{"syscall:socket"});
  }
}

TEST_P(Network, LoopbackWorksInside) {
  for (const std::string attack : {"talk-tcp4", "talk-tcp6", "talk-udp4", "talk-udp6"}) {
    SCOPED_TRACE(attack);
    EXPECT_TRUE(attack_worked(probe_outside({attack})));
    EXPECT_TRUE(attack_worked(probe_in_cell(GetParam(), {attack})));
  }
  for (const std::string name : {"@mine", "/tmp/mine", "/workspace/mine"})
    EXPECT_TRUE(attack_worked(probe_from_scratch({"talk-unix", name}))) << name;
}

// ---- The host

constexpr const char* kNamesOfLoopback[] = {"127.0.0.1", "127.1.2.3", "0.0.0.0",
                                            "::1",       "::",        "::ffff:127.0.0.1"};

TEST_P(Network, TheHostsServersAreNotOnTheCellsLoopback) {
  const HostSocket server = HostSocket::internet(SOCK_STREAM);
  for (const std::string address : kNamesOfLoopback) {
    SCOPED_TRACE(address);
    const Words attack = {"tcp-connect", address, server.port()};
    EXPECT_TRUE(attack_worked(probe_outside(attack, GetParam())));
    EXPECT_EQ(server.heard(), 1);
    EXPECT_TRUE(attack_refused(probe_in_cell(GetParam(), attack)));
    EXPECT_EQ(server.heard(), 0);
  }
}

TEST_P(Network, DatagramsDoNotReachTheHost) {
  const HostSocket receiver = HostSocket::internet(SOCK_DGRAM);
  for (const std::string address : kNamesOfLoopback) {
    SCOPED_TRACE(address);
    EXPECT_TRUE(attack_worked(probe_outside({"udp-send", address, receiver.port()}, GetParam())));
    EXPECT_EQ(receiver.heard(), 1);
    // Sent it may be: to the cell's own loopback, where nobody listens.
    static_cast<void>(probe_in_cell(GetParam(), {"udp-send", address, receiver.port()}));
    EXPECT_EQ(receiver.heard(), 0);
  }
}

// Abstract names belong to the network namespace, not to the file system.
TEST_P(Network, AbstractSocketsOfTheHostAreNotThere) {
  const std::string name = "@" + unique_word();
  const HostSocket server = HostSocket::local(name);
  EXPECT_TRUE(attack_worked(probe_outside({"unix-connect", name}, GetParam())));
  EXPECT_EQ(server.heard(), 1);
  const Ran inside = probe_from_scratch({"unix-connect", name});
  EXPECT_TRUE(attack_refused(inside));
  EXPECT_NE(inside.out.find("Connection refused"), std::string::npos) << inside.out;
  EXPECT_EQ(server.heard(), 0);
}

// "Path unix sockets (docker.sock, dbus, ssh-agent …): connect() works on read-only binds"
TEST_P(Network, SocketsOfTheHostInAGrantedDirectoryCannotBeUsed) {
  const TempDir shared(GetParam());
  ASSERT_EQ(::chmod(shared.path().c_str(), 0755), 0);
  const HostSocket stream = HostSocket::local(shared / "stream");
  const HostSocket datagram = HostSocket::local(shared / "datagram", SOCK_DGRAM);
  for (const char* name : {"stream", "datagram"})
    ASSERT_EQ(::chmod((shared / name).c_str(), 0777), 0);

  EXPECT_TRUE(attack_worked(probe_outside({"unix-connect", shared / "stream"}, GetParam())));
  EXPECT_TRUE(attack_worked(probe_outside({"unix-pair-connect", shared / "datagram"}, GetParam())));
  EXPECT_EQ(stream.heard(), 1);
  for (const std::string grant : {"--read", "--write"}) {
    SCOPED_TRACE(grant);
    const Words option = {grant, shared.path() + ":/shared"};
    EXPECT_TRUE(
        attack_refused(probe_in_cell(GetParam(), {"unix-connect", "/shared/stream"}, option)));
    EXPECT_TRUE(attack_refused(
        probe_in_cell(GetParam(), {"unix-pair-connect", "/shared/datagram"}, option)));
    EXPECT_EQ(stream.heard(), 0);
  }
}

// ---- The world

// Metadata services among them; and the broadcast and multicast addresses of whatever is near.
constexpr const char* kOutside[] = {"198.51.100.1",    "8.8.8.8",         "10.0.0.1",
                                    "169.254.169.254", "172.17.0.1",      "100.100.100.200",
                                    "224.0.0.1",       "255.255.255.255", "2001:db8::1",
                                    "fd00:ec2::254",   "ff02::1"};

// A namespace in which all addresses are its own, and something listens at all of them.
TEST_P(Network, NothingOutsideIsReachableAndThatIsSaidAtOnce) {
  LiveProcess world({"unshare", "--net", "sh", "-c",
                     "ip link set lo up; ip route add local 0.0.0.0/0 dev lo; exec " +
                         probe_path() + " hold tcp 80"});
  ASSERT_TRUE(world.says("ready"));
  for (const std::string address : {"198.51.100.1", "8.8.8.8", "169.254.169.254"})
    EXPECT_TRUE(attack_worked(run({"nsenter", "--net", "--target", std::to_string(world.pid()),
                                   probe_path(), "tcp-connect", address, "80"})))
        << address;

  for (const std::string address : kOutside) {
    for (const Words& attack :
         {Words{"tcp-connect", address, "80"}, Words{"udp-send", address, "53"}}) {
      SCOPED_TRACE(attack[0] + " " + address);
      const Ran inside = probe_in_cell(GetParam(), attack);
      EXPECT_TRUE(attack_refused(inside));
      EXPECT_NE(inside.out.find(kUnreachable), std::string::npos) << inside.out;
    }
  }
}

// A program that waits for a name server waits for seconds, often many times.
TEST_P(Network, NamesDoNotResolveAndThatIsSaidAtOnce) {
  const auto resolve = [](const std::string& name) {
    return run_cell(GetParam(),
                    {"--", "/usr/bin/python3", "-c",
                     "import socket, time\n"
                     "begin = time.monotonic()\n"
                     "try:\n"
                     "  print(socket.getaddrinfo('" +
                         name +
                         "', 80)[0][4][0])\n"
                         "except socket.gaierror:\n"
                         "  print('slow' if time.monotonic() - begin > 4 else 'no')\n"});
  };
  EXPECT_THAT(resolve("localhost").out, testing::AnyOf("127.0.0.1\n", "::1\n"));
  EXPECT_EQ(resolve("example.com").out, "no\n");
  EXPECT_EQ(resolve("metadata.google.internal").out, "no\n");
}

TEST_P(Network, LoopbackIsTheOnlyInterface) {
  EXPECT_TRUE(
      attack_worked(run({"unshare", "--net", "sh", "-c",
                         "ip link add probe0 type veth && exec " + probe_path() + " interfaces"})));
  const Ran inside = probe_in_cell(GetParam(), {"interfaces"});
  EXPECT_TRUE(attack_refused(inside));
  EXPECT_EQ(inside.out, "lo\n");
}

// getaddrinfo() needs to read; nobody needs to write.
TEST_P(Network, TheNetworkCanBeReadAndNotChanged) {
  EXPECT_TRUE(attack_worked(probe_in_cell(GetParam(), {"netlink-read"})));
  for (const std::string attack : {"netlink-write", "loopback-down"}) {
    SCOPED_TRACE(attack);
    EXPECT_TRUE(attack_worked(run({"unshare", "--net", probe_path(), attack})));
    EXPECT_TRUE(attack_refused(probe_in_cell(GetParam(), {attack})));
  }
}

TEST_P(Network, ProcNetShowsOnlyTheCellsOwn) {
  const std::string name = "@" + unique_word();
  const HostSocket local = HostSocket::local(name);
  const HostSocket server = HostSocket::internet(SOCK_STREAM);
  char port[8];
  std::snprintf(port, sizeof(port), ":%04X", std::stoi(server.port()));
  const std::string script = "cat /proc/net/unix /proc/net/tcp6 /proc/net/dev";

  const Ran outside = run({"sh", "-c", script}, RunOptions{.as = GetParam()});
  EXPECT_NE(outside.out.find(name), std::string::npos);
  EXPECT_NE(outside.out.find(port), std::string::npos);
  const Ran inside = run_cell(GetParam(), {"--", "sh", "-c", script});
  EXPECT_EQ(inside.exit_code, 0) << inside.err;
  EXPECT_EQ(inside.out.find(name), std::string::npos) << inside.out;
  EXPECT_EQ(inside.out.find(port), std::string::npos) << inside.out;
  EXPECT_NE(inside.out.find("lo:"), std::string::npos) << inside.out;
}

// "Listening ports / reverse connections from host to sandbox"
TEST_P(Network, TheHostCannotBeReachedByAServerInACell) {
  const std::string port = HostSocket::internet(SOCK_STREAM).port();  // free again
  Words args = probe_grant();
  args.insert(args.end(), {"--timeout", "60s", "--", probe_inside(), "hold", "tcp", port});
  LiveProcess cell = start_cell(GetParam(), args);
  ASSERT_TRUE(cell.says("ready"));
  EXPECT_TRUE(attack_refused(probe_outside({"tcp-connect", "127.0.0.1", port})));

  LiveProcess twin({probe_path(), "hold", "tcp", port});
  ASSERT_TRUE(twin.says("ready"));
  EXPECT_TRUE(attack_worked(probe_outside({"tcp-connect", "127.0.0.1", port})));
}

}  // namespace
}  // namespace sallyport::test
