#include "serve/front_control.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "kernel/memory_file.h"

namespace sallyport {
namespace {

constexpr std::size_t kLargestText = std::size_t{16} << 20;

std::unexpected<Error> broken(std::string why) {
  return fail(Reason::unavailable, "the control socket is broken: " + std::move(why));
}

// One byte, with a descriptor when there is text.
Result<void> send_byte(int socket, char kind, int file) {
  iovec text{.iov_base = &kind, .iov_len = 1};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &text;
  message.msg_iovlen = 1;
  if (file >= 0) {
    message.msg_control = space;
    message.msg_controllen = sizeof(space);
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(rights), &file, sizeof(int));
  }
  for (;;) {
    if (::sendmsg(socket, &message, MSG_NOSIGNAL) == 1) return {};
    if (errno != EINTR) return broken(std::strerror(errno));
  }
}

}  // namespace

Result<void> send_control(int socket, const KeeperMessage& message) {
  const char kind = static_cast<char>(message.kind);
  if (message.text.empty()) return send_byte(socket, kind, -1);
  if (message.text.size() > kLargestText) return broken("the text is too large for it");
  const auto file = make_memory_file(message.text);
  if (!file) return fail(Reason::unavailable, file.error());
  return send_byte(socket, kind, file->get());
}

Result<KeeperMessage> receive_control(int socket) {
  char bytes[2];
  iovec text{.iov_base = bytes, .iov_len = sizeof(bytes)};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};
  header.msg_iov = &text;
  header.msg_iovlen = 1;
  header.msg_control = space;
  header.msg_controllen = sizeof(space);
  ssize_t size = 0;
  do
    size = ::recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
  while (size < 0 && errno == EINTR);
  if (size < 0) return broken(std::strerror(errno));
  Fd file;
  bool too_many = false;
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    // All that came are ours to close; there is room for more than one in the padding.
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
      too_many = too_many || file.valid();
      file.reset(fd);
    }
  }
  if (size == 0) return broken("the other side is gone");
  const auto kind = static_cast<unsigned char>(bytes[0]);
  if (size != 1 || too_many || (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0 ||
      kind > static_cast<unsigned char>(ControlKind::stop))
    return broken("the other side sent something else");
  KeeperMessage message{.kind = static_cast<ControlKind>(kind), .text = {}};
  if (!file) return message;
  auto read = read_memory_file(file.get(), kLargestText);
  if (!read) return broken(describe(read.error()));
  message.text = std::move(*read);
  return message;
}

}  // namespace sallyport
