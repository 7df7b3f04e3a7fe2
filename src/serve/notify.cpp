#include "serve/notify.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstdlib>
#include <string>

#include "base/clock.h"
#include "base/fd.h"

namespace sallyport {

void notify_manager(std::string_view state) {
  const char* text = std::getenv("NOTIFY_SOCKET");
  if (text == nullptr || (text[0] != '/' && text[0] != '@')) return;
  std::string path = text;
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  if (path.size() >= sizeof(address.sun_path)) return;
  if (path[0] == '@') path[0] = '\0';  // an abstract name
  path.copy(address.sun_path, path.size());
  const Fd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  (void)!::sendto(socket.get(), state.data(), state.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
                  reinterpret_cast<const sockaddr*>(&address), size);
}

void notify_reloading() {
  notify_manager("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(monotonic_ns() / 1000));
}

}  // namespace sallyport
