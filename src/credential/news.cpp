#include "credential/news.h"

#include <poll.h>
#include <sys/socket.h>

#include <cstring>

namespace sallyport {

bool send_news(int egress, const SecretNews& news) {
  auto bytes = write_wire(news, kLargestNews, "a secret");
  if (!bytes) return false;
  ssize_t sent = -1;
  while ((sent = ::send(egress, bytes->data(), bytes->size(), MSG_NOSIGNAL)) < 0) {
    if (errno == EAGAIN) {
      pollfd room{.fd = egress, .events = POLLOUT, .revents = 0};
      (void)::poll(&room, 1, -1);
    } else if (errno != EINTR) {
      break;
    }
  }
  ::explicit_bzero(bytes->data(), bytes->size());
  return sent >= 0;
}

Sys<SecretNews> receive_news(int reader) {
  std::string bytes(kLargestNews + 1, '\0');
  const ssize_t size = ::recv(reader, bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (size < 0) return sys_fail("recv", "credentials");
  if (size == 0) return sys_fail("recv", "credentials", EPIPE);
  auto news = read_wire<SecretNews>(
      std::string_view(bytes).substr(0, static_cast<std::size_t>(size)), kLargestNews, "a secret");
  ::explicit_bzero(bytes.data(), bytes.size());
  if (!news) return sys_fail("recv", "credentials", EBADMSG);
  return std::move(*news);
}

}  // namespace sallyport
