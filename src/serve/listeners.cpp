#include "serve/listeners.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <optional>

#include "base/parse.h"
#include "base/text.h"

namespace sallyport {
namespace {

constexpr int kBacklog = 4096;
constexpr int kFirstActivated = 3;  // of sd_listen_fds(3)
constexpr const char* kForms =
    "write ADDRESS:PORT, such as 127.0.0.1:8640 or [::1]:8640, or unix:/PATH";

Result<sockaddr_un> unix_address(const std::string& path) {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  if (path.size() >= sizeof(address.sun_path))
    return fail(Reason::argument, "the path " + quoted(path) + " is too long for a socket",
                "107 bytes are the most");
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

std::unexpected<Error> cannot_listen(const std::string& name, const std::string& why,
                                     std::string hint = {}) {
  return fail(Reason::unavailable, "cannot listen on " + quoted(name) + ": " + why,
              std::move(hint));
}

// The name of a bound TCP socket; empty: it is none.
std::string tcp_name(int socket) {
  union {
    sockaddr any;
    sockaddr_in v4;
    sockaddr_in6 v6;
  } address{};
  socklen_t size = sizeof(address);
  if (::getsockname(socket, &address.any, &size) != 0) return {};
  char text[INET6_ADDRSTRLEN] = {};
  if (address.any.sa_family == AF_INET) {
    ::inet_ntop(AF_INET, &address.v4.sin_addr, text, sizeof(text));
    return std::string(text) + ":" + std::to_string(ntohs(address.v4.sin_port));
  }
  if (address.any.sa_family != AF_INET6) return {};
  ::inet_ntop(AF_INET6, &address.v6.sin6_addr, text, sizeof(text));
  return "[" + std::string(text) + "]:" + std::to_string(ntohs(address.v6.sin6_port));
}

Result<Listener> open_tcp(const ListenAddress& wanted) {
  const std::string name = wanted.v6 ? "[" + wanted.address + "]:" + std::to_string(wanted.port)
                                     : wanted.address + ":" + std::to_string(wanted.port);
  Listener listener;
  listener.socket =
      Fd(::socket(wanted.v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  int bound = -1;
  if (listener.socket && wanted.v6) {
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(wanted.port);
    ::inet_pton(AF_INET6, wanted.address.c_str(), &address.sin6_addr);
    (void)::setsockopt(listener.socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    (void)::setsockopt(listener.socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
    bound = ::bind(listener.socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address));
  } else if (listener.socket) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(wanted.port);
    ::inet_pton(AF_INET, wanted.address.c_str(), &address.sin_addr);
    (void)::setsockopt(listener.socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    bound = ::bind(listener.socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address));
  }
  if (bound != 0 || ::listen(listener.socket.get(), kBacklog) != 0)
    return cannot_listen(
        name, std::strerror(errno),
        errno == EADDRINUSE ? "another program has it; choose another port" : std::string());
  listener.name = tcp_name(listener.socket.get());
  return listener;
}

Result<Listener> open_unix(const std::string& path, const FrontUser& user, int type = SOCK_STREAM) {
  const auto address = unix_address(path);
  if (!address) return std::unexpected(address.error());
  struct stat there{};
  if (::lstat(path.c_str(), &there) == 0) {
    if (!S_ISSOCK(there.st_mode))
      return cannot_listen(path, "it is there already and is not a socket", "choose another path");
    if (!is_abandoned_socket(path, type))
      return cannot_listen(path, "another program answers there");
    ::unlink(path.c_str());
  }
  Listener listener;
  listener.tcp = false;
  listener.name = "unix:" + path;
  listener.path = path;
  listener.type = type;
  listener.socket = Fd(::socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const mode_t before = ::umask(0117);  // never open to others, not for a moment
  const int bound =
      ::bind(listener.socket.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof(*address));
  const int err = errno;
  ::umask(before);
  if (bound != 0) return cannot_listen(path, std::strerror(err));
  if ((user.changes && ::lchown(path.c_str(), 0, user.gid) != 0) ||
      ::listen(listener.socket.get(), kBacklog) != 0)
    return cannot_listen(path, std::strerror(errno));
  return listener;
}

}  // namespace

Result<ListenAddress> parse_listen(std::string_view text) {
  const auto refuse = [text](std::string_view what) {
    return fail(Reason::argument, quoted(text) + " " + std::string(what), kForms);
  };
  ListenAddress listen;
  if (text.starts_with("unix:")) {
    listen.path = text.substr(5);
    if (!listen.path.starts_with('/') || listen.path.ends_with('/') ||
        irregular_component(listen.path) || listen.path.contains('\0'))
      return refuse("has no absolute path");
    return listen;
  }
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return refuse("has no port");
  const auto port = whole_number<std::uint16_t>(text.substr(colon + 1));
  if (!port) return refuse("has no port from 0 to 65535");
  listen.port = *port;
  listen.address = text.substr(0, colon);
  if (listen.address == "localhost") listen.address = "127.0.0.1";
  listen.v6 = listen.address.starts_with('[') && listen.address.ends_with(']');
  if (listen.v6) listen.address = listen.address.substr(1, listen.address.size() - 2);
  char bytes[sizeof(in6_addr)];
  if (::inet_pton(listen.v6 ? AF_INET6 : AF_INET, listen.address.c_str(), bytes) != 1)
    return refuse("has no numeric address");
  return listen;
}

Result<Listener> open_files_listener(const Listener& beside, const FrontUser& user) {
  return open_unix(beside.path + std::string(kFilesSuffix), user, SOCK_SEQPACKET);
}

bool is_abandoned_socket(const std::string& path, int type) {
  const auto address = unix_address(path);
  const Fd socket(::socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!address || !socket) return false;
  return ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof(*address)) !=
             0 &&
         errno == ECONNREFUSED;
}

Result<Listener> open_listener(const ListenAddress& address, const FrontUser& user) {
  return address.path.empty() ? open_tcp(address) : open_unix(address.path, user);
}

Result<std::vector<Listener>> take_activated_listeners() {
  const char* pid = std::getenv("LISTEN_PID");
  const char* fds = std::getenv("LISTEN_FDS");
  const auto meant = pid != nullptr ? whole_number<pid_t>(pid) : std::nullopt;
  const auto count = fds != nullptr ? whole_number<int>(fds) : std::nullopt;
  for (const char* name : {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"})
    ::unsetenv(name);
  std::vector<Listener> listeners;
  if (meant != ::getpid() || !count) return listeners;
  for (int fd = kFirstActivated; fd < kFirstActivated + *count && *count <= 64; ++fd) {
    Listener listener;
    listener.socket = Fd(fd);
    int listens = 0, type = 0;
    socklen_t size = sizeof(int);
    if (::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0 || ::fcntl(fd, F_SETFL, O_NONBLOCK) != 0 ||
        ::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens == 0 ||
        ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM)
      return fail(Reason::unavailable,
                  "descriptor " + std::to_string(fd) + " of LISTEN_FDS is not a listening stream",
                  "in the socket unit, use ListenStream= and Accept=no");
    listener.name = tcp_name(fd);
    listener.tcp = !listener.name.empty();
    if (!listener.tcp) listener.name = "a unix socket of systemd's";
    listeners.push_back(std::move(listener));
  }
  return listeners;
}

void remove_listener(Listener& listener) {
  listener.socket.reset();
  // Not by its inode: file systems give a number to the next file at once.
  if (!listener.path.empty() && is_abandoned_socket(listener.path, listener.type))
    ::unlink(listener.path.c_str());
}

}  // namespace sallyport
