#include "launch/connect.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>

namespace sallyport {

Sys<Fd> connect_to_launcher(const std::string& path) {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  if (path.size() >= sizeof(address.sun_path)) return sys_fail("connect", "launcher", ENAMETOOLONG);
  std::memcpy(address.sun_path, path.data(), path.size());
  Fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!socket) return sys_fail("socket", "launcher");
  const timeval patience{.tv_sec = 5, .tv_usec = 0};  // for a place in the queue
  (void)::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  int done = 0;
  do
    done = ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  while (done != 0 && errno == EINTR);
  if (done != 0) return sys_fail("connect", "launcher");
  return socket;
}

}  // namespace sallyport
