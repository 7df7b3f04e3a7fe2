#include "egress/door.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "egress/network_map.h"

namespace sallyport {
namespace {

constexpr std::size_t kLargestPacket = std::size_t{128} << 10;
constexpr std::size_t kBesideListeners = 4;  // of a cell, in the order of NewCell
constexpr std::size_t kMostFds = kMostPoints + kBesideListeners;
constexpr std::size_t kMostEvents = 1010;  // somewhat more than are sent
constexpr auto kReadyPatience = std::chrono::seconds(5);
constexpr auto kLastPatience = std::chrono::milliseconds(500);
constexpr std::string_view kReady = "ready", kRefused = "refused";

struct Registration {
  std::string call_id;
  EgressRules rules;
  std::vector<std::string> placeholders;
};

// Sends one packet whole, or nothing.
Sys<void> send_packet(int socket, std::string_view bytes, std::span<const int> fds, int flags) {
  iovec text{.iov_base = const_cast<char*>(bytes.data()), .iov_len = bytes.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostFds * sizeof(int))> space{};
  msghdr header{};
  header.msg_iov = &text;
  header.msg_iovlen = 1;
  if (!fds.empty()) {
    header.msg_control = space.data();
    header.msg_controllen = CMSG_SPACE(fds.size_bytes());
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(fds.size_bytes());
    std::memcpy(CMSG_DATA(rights), fds.data(), fds.size_bytes());
  }
  if (::sendmsg(socket, &header, MSG_NOSIGNAL | flags) != static_cast<ssize_t>(bytes.size()))
    return sys_fail("sendmsg", "egress");
  return {};
}

struct ReceivedPacket {
  std::string bytes;
  std::vector<Fd> fds;
};

Sys<ReceivedPacket> receive_packet_from(int socket) {
  ReceivedPacket packet;
  packet.bytes.resize(kLargestPacket);
  iovec text{.iov_base = packet.bytes.data(), .iov_len = packet.bytes.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostFds * sizeof(int))> space{};
  msghdr header{};
  header.msg_iov = &text;
  header.msg_iovlen = 1;
  header.msg_control = space.data();
  header.msg_controllen = space.size();
  const ssize_t size = ::recvmsg(socket, &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (size < 0) return sys_fail("recvmsg", "egress");
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    packet.fds.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
      packet.fds.emplace_back(fd);
    }
  }
  if (size == 0) return sys_fail("recvmsg", "egress", EPIPE);
  if ((header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0)
    return sys_fail("recvmsg", "egress", EBADMSG);
  packet.bytes.resize(static_cast<std::size_t>(size));
  return packet;
}

// Whether the socket can be read before the time is up.
bool wait_readable(int socket, std::chrono::steady_clock::time_point until) {
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    pollfd one{.fd = socket, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&one, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

// The egress process opens no files. One that is not there is as good as an empty one.
Fd open_file(const char* path) {
  Fd file(::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) file = Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  return file;
}

std::unexpected<Error> no_egress(std::string_view what) {
  return fail(
      Reason::unavailable,
      "the network that the call may use cannot be had: the egress process " + std::string(what),
      "try again; the service starts it anew");
}

}  // namespace

template <class Wire>
void visit(Wire& wire, Registration& registration) {
  visit(wire, registration.call_id);
  visit(wire, registration.rules);
  visit(wire, registration.placeholders);
}

template <class Wire>
void visit(Wire& wire, CellReady& ready) {
  visit(wire, ready.authority);
  visit(wire, ready.fingerprints);
}

Sys<DoorPair> make_door() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return sys_fail("socketpair", "egress");
  return DoorPair{.outside = Fd(ends[0]), .egress = Fd(ends[1])};
}

Result<EgressChannel> EgressChannel::open(int door, const std::string& call_id,
                                          const EgressRules& rules,
                                          const std::vector<std::string>& placeholders,
                                          const std::vector<Fd>& sockets) {
  const auto bytes =
      write_wire(Registration{.call_id = call_id, .rules = rules, .placeholders = placeholders},
                 kLargestPacket, "the network");
  if (!bytes) return std::unexpected(bytes.error());
  auto ends = make_door();
  if (!ends) return fail(Reason::unavailable, ends.error());
  const Fd resolv_conf = open_file("/etc/resolv.conf"), hosts = open_file("/etc/hosts");
  std::vector<int> fds{ends->egress.get(), resolv_conf.get(), hosts.get()};
  fds.reserve(sockets.size() + fds.size());
  for (const Fd& socket : sockets)
    fds.push_back(socket.get());
  if (fds.size() > kMostFds) return fail(Reason::internal, "a cell has too many sockets");
  const auto until = std::chrono::steady_clock::now() + kReadyPatience;
  if (auto sent = send_packet(door, *bytes, fds, MSG_DONTWAIT); !sent)
    return no_egress("is gone or busy (" + describe(sent.error()) + ")");
  ends->egress.reset();
  EgressChannel channel(std::move(ends->outside), rules.upload);
  if (!wait_readable(channel.fd(), until)) return no_egress("did not answer in time");
  const auto packet = receive_packet_from(channel.fd());
  if (packet && packet->bytes.starts_with(kRefused))
    return fail(Reason::unavailable, packet->bytes.substr(kRefused.size()));
  if (!packet || !packet->bytes.starts_with(kReady)) return no_egress("refused it");
  auto ready = read_wire<CellReady>(std::string_view(packet->bytes).substr(kReady.size()),
                                    kLargestPacket, "the readiness of a cell's network");
  if (!ready) return no_egress("answered something else");
  channel.ready_ = std::move(*ready);
  if (channel.authority().empty() == has_inspection(rules))
    return no_egress("does not look into TLS as the rules say");
  return channel;
}

bool EgressChannel::take() {
  for (;;) {
    auto packet = receive_packet_from(channel_.get());
    if (!packet) {
      if (packet.error().err == EAGAIN || packet.error().err == EINTR) return true;
      channel_.reset();
      // It cannot say any more what it sent: then it was all that it might.
      if (!finishing_)
        events_.push_back({.kind = "unlisted",
                           .verdict = "unknown",
                           .sent = upload_ < kGreatestSize ? upload_.bytes : 0,
                           .why = "the egress process ended, and with it the cell's network"});
      return false;
    }
    auto event = read_wire<NetworkEvent>(packet->bytes, kLargestPacket, "an event");
    if (event && events_.size() < kMostEvents) events_.push_back(std::move(*event));
  }
}

std::vector<NetworkEvent> EgressChannel::finish() {
  finishing_ = true;
  if (channel_) ::shutdown(channel_.get(), SHUT_WR);
  const auto until = std::chrono::steady_clock::now() + kLastPatience;
  while (channel_ && wait_readable(channel_.get(), until))
    take();
  channel_.reset();
  return std::move(events_);
}

Sys<NewCell> receive_cell(int door) {
  auto packet = receive_packet_from(door);
  if (!packet) return std::unexpected(packet.error());
  auto registration = read_wire<Registration>(packet->bytes, kLargestPacket, "a cell's network");
  if (!registration || packet->fds.size() <= kBesideListeners)
    return sys_fail("recvmsg", "egress", EBADMSG);
  NewCell cell{.call_id = std::move(registration->call_id),
               .rules = std::move(registration->rules),
               .placeholders = std::move(registration->placeholders),
               .channel = std::move(packet->fds[0]),
               .resolv_conf = std::move(packet->fds[1]),
               .hosts = std::move(packet->fds[2]),
               .names = std::move(packet->fds[3]),
               .listeners = {}};
  cell.listeners.assign(std::make_move_iterator(packet->fds.begin() + kBesideListeners),
                        std::make_move_iterator(packet->fds.end()));
  return cell;
}

bool send_ready(int channel, const CellReady& ready) {
  const auto bytes = write_wire(ready, kLargestPacket, "the readiness of a cell's network");
  return bytes && send_packet(channel, std::string(kReady) + *bytes, {}, MSG_DONTWAIT).has_value();
}

bool send_refusal(int channel, const std::string& why) {
  return send_packet(channel, std::string(kRefused) + why, {}, MSG_DONTWAIT).has_value();
}

bool send_event(int channel, const NetworkEvent& event) {
  const auto bytes = write_wire(event, kLargestPacket, "an event");
  return bytes && send_packet(channel, *bytes, {}, MSG_DONTWAIT).has_value();
}

}  // namespace sallyport
