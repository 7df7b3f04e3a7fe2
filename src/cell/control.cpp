#include "cell/control.h"

#include <sys/socket.h>

#include <cstring>

namespace sallyport {
namespace {

constexpr std::size_t kMaxDescriptors = 253;  // the kernel's own bound

}  // namespace

Sys<ControlPair> make_control() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return sys_fail("socketpair", "control");
  return ControlPair{Fd(ends[0]), Fd(ends[1])};
}

Sys<void> send_message(int control, ControlMessage message) {
  if (::send(control, &message, 1, MSG_NOSIGNAL) != 1) return sys_fail("send", "control");
  return {};
}

Sys<void> ask_supervisor(int control, ControlMessage question) {
  if (auto sent = send_message(control, question); !sent) return sent;
  return await_done(control);
}

Sys<void> await_done(int control) {
  return await(control, ControlMessage::done);
}

Sys<void> await(int control, ControlMessage message) {
  ControlMessage answer{};
  if (::recv(control, &answer, 1, 0) != 1 || answer != message)
    return sys_fail("recv", "control", EPERM);
  return {};
}

Sys<void> send_descriptors(int control, ControlMessage message, std::span<const int> descriptors) {
  iovec text{.iov_base = &message, .iov_len = 1};
  alignas(cmsghdr) char space[CMSG_SPACE(kMaxDescriptors * sizeof(int))] = {};
  msghdr header{};
  header.msg_iov = &text;
  header.msg_iovlen = 1;
  header.msg_control = space;
  header.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
  cmsghdr* rights = CMSG_FIRSTHDR(&header);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(descriptors.size_bytes());
  std::memcpy(CMSG_DATA(rights), descriptors.data(), descriptors.size_bytes());
  if (::sendmsg(control, &header, MSG_NOSIGNAL) != 1) return sys_fail("sendmsg", "control");
  return {};
}

Sys<Received> receive(int control) {
  Received received;
  iovec text{.iov_base = &received.message, .iov_len = 1};
  alignas(cmsghdr) char space[CMSG_SPACE(kMaxDescriptors * sizeof(int))] = {};
  msghdr header{};
  header.msg_iov = &text;
  header.msg_iovlen = 1;
  header.msg_control = space;
  header.msg_controllen = sizeof(space);
  if (::recvmsg(control, &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) < 0)
    return sys_fail("recvmsg", "control");
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
      received.descriptors.emplace_back(fd);
    }
  }
  return received;
}

}  // namespace sallyport
