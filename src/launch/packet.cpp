#include "launch/packet.h"

#include <sys/socket.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/sha256.h"

namespace sallyport {
namespace {

struct Header {
  std::uint32_t magic = 0x314b5053;  // "SPK1"
  std::uint8_t kind = 0;
  std::uint8_t flags = 0;
  std::uint16_t size = 0;
  PacketId id{};
};
static_assert(sizeof(Header) == 24);

constexpr std::uint8_t kAllFlags =
    kHasOutput | kHasError | kHasDirectory | kHasConnection | kHasClass | kHasTicket;
// One of them: a cell that was made ahead of need shows nothing of a client.
constexpr std::uint8_t kHasId = kHasClass | kHasTicket;

// Which kinds bring something that is content or a descriptor, as its sender likes.
bool may_have_content(PacketKind kind) {
  return kind == PacketKind::claim || kind == PacketKind::hand_over || kind == PacketKind::outcome;
}

bool is_whole(const Header& header, std::size_t fds, bool has_content) {
  if (header.magic != Header{}.magic) return false;
  if (header.size != 0 && static_cast<PacketKind>(header.kind) != PacketKind::ready) return false;
  const bool has_id = header.id != PacketId{};
  const auto kind = static_cast<PacketKind>(header.kind);
  if (has_content && !may_have_content(kind)) return false;
  if (has_content) ++fds;  // it stands for one
  switch (kind) {
    case PacketKind::claim:
    case PacketKind::hand_over:
      return (header.flags & ~kAllFlags) == 0 && has_id == ((header.flags & kHasId) != 0) &&
             (header.flags & kHasId) != kHasId &&
             fds == (kind == PacketKind::claim ? 1 : 2) +
                        static_cast<std::size_t>(
                            std::popcount(static_cast<std::uint8_t>(header.flags & ~kHasTicket)));
    case PacketKind::make:
      return (header.flags & ~(kSpare | kMayDoze)) == 0 && fds == 0 && !has_id;
    case PacketKind::accepted:
    case PacketKind::go:
    case PacketKind::hello:
    case PacketKind::idle:
    case PacketKind::wake:
      return header.flags == 0 && fds == 0 && !has_id;
    case PacketKind::outcome:
      return header.flags == 0 && fds == 1 && !has_id;
    case PacketKind::pool:
      return header.flags == 0 && fds <= 1 && !has_id;
    case PacketKind::ready:
      return (header.flags & ~(kBadImage | kDozing)) == 0 && fds == 0;
    case PacketKind::image:
      return header.flags == 0 && fds == 1;
    case PacketKind::root:
      return header.flags == 0 && fds == 2 && has_id;
    case PacketKind::visit:
      return header.flags == 0 && fds >= 2 && !has_id;
    case PacketKind::ticket:
      return header.flags == 0 && fds == 0 && has_id;
  }
  return false;
}

}  // namespace

PacketId id_of(std::string_view bytes) {
  const Sha256 digest = sha256(bytes);
  PacketId id;
  std::copy_n(digest.begin(), id.size(), id.begin());
  return id;
}

Sys<void> send_packet(int socket, PacketKind kind, std::uint8_t flags, std::span<const int> fds,
                      const PacketId& id, std::uint16_t size, std::string_view content) {
  if (fds.size() > kMostPacketFds) return sys_fail("sendmsg", "packet", EMFILE);
  if (content.size() > kMostPacketContent) return sys_fail("sendmsg", "packet", EMSGSIZE);
  Header packet{.kind = static_cast<std::uint8_t>(kind), .flags = flags, .size = size, .id = id};
  iovec text[] = {{.iov_base = &packet, .iov_len = sizeof(packet)},
                  {.iov_base = const_cast<char*>(content.data()), .iov_len = content.size()}};
  alignas(cmsghdr) char space[CMSG_SPACE(kMostPacketFds * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = text;
  message.msg_iovlen = content.empty() ? 1 : 2;
  if (!fds.empty()) {
    message.msg_control = space;
    message.msg_controllen = CMSG_SPACE(fds.size_bytes());
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(fds.size_bytes());
    std::memcpy(CMSG_DATA(rights), fds.data(), fds.size_bytes());
  }
  for (;;) {
    const ssize_t sent = ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent == static_cast<ssize_t>(sizeof(packet) + content.size())) return {};
    if (sent < 0 && errno == EINTR) continue;
    return sys_fail("sendmsg", "packet");
  }
}

Sys<Packet> receive_packet(int socket) {
  Header header{.magic = 0};
  Packet packet;
  // One byte more, so that a longer packet is seen as such. Never on the stack: a supervisor's next
  // cell begins as a copy of it, and gives up its heap only.
  packet.content.resize_and_overwrite(kMostPacketContent + 1,
                                      [](char*, std::size_t size) { return size; });
  iovec text[] = {{.iov_base = &header, .iov_len = sizeof(header)},
                  {.iov_base = packet.content.data(), .iov_len = packet.content.size()}};
  // The kernel closes what does not fit here, and says so.
  alignas(cmsghdr) char space[CMSG_SPACE(kMostPacketFds * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = text;
  message.msg_iovlen = 2;
  message.msg_control = space;
  message.msg_controllen = sizeof(space);
  const auto receive = [&] {
    ssize_t size = 0;
    do
      size = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    while (size < 0 && errno == EINTR);
    return size;
  };
  ssize_t size = receive();
  // The other side has closed without having read everything. That is said once, and before what it
  // had sent.
  if (size < 0 && errno == ECONNRESET) size = receive();
  if (size < 0) return sys_fail("recvmsg", "packet", errno == ECONNRESET ? EPIPE : errno);

  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
      packet.fds.emplace_back(fd);
    }
  }
  if (size == 0 && packet.fds.empty()) return sys_fail("recvmsg", "packet", EPIPE);
  const std::size_t excess = static_cast<std::size_t>(size) - sizeof(header);
  if (size < static_cast<ssize_t>(sizeof(header)) || excess > kMostPacketContent ||
      (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0 ||
      !is_whole(header, packet.fds.size(), excess > 0))
    return sys_fail("recvmsg", "packet", EBADMSG);
  packet.content.resize(excess);
  packet.kind = static_cast<PacketKind>(header.kind);
  packet.flags = header.flags;
  packet.id = header.id;
  packet.size = header.size;
  return packet;
}

}  // namespace sallyport
