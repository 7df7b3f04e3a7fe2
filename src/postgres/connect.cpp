#include "postgres/connect.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>

#include "base/text.h"

namespace sallyport {
namespace {

using Clock = std::chrono::steady_clock;

std::unexpected<Error> no_way(const PostgresAddress& address, const std::string& why) {
  return fail(Reason::unavailable,
              "the database server at " + quoted(address.host) + " cannot be reached: " + why,
              "look whether it runs, and whether `database` of the policy is right");
}

// Connects without waiting past the deadline: 0, or why not.
int connect_until(int socket, const sockaddr* name, socklen_t size, Clock::time_point deadline,
                  int cancel) {
  if (::connect(socket, name, size) == 0) return 0;
  if (errno != EINPROGRESS && errno != EINTR) return errno;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) return ETIMEDOUT;
    pollfd events[] = {{.fd = socket, .events = POLLOUT, .revents = 0},
                       {.fd = cancel, .events = POLLIN, .revents = 0}};
    if (::poll(events, 2, static_cast<int>(left.count())) < 0 && errno != EINTR) return errno;
    if (events[1].revents != 0) return ECANCELED;
    if (events[0].revents == 0) continue;
    int error = 0;
    socklen_t length = sizeof(error);
    return ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &length) == 0 ? error : errno;
  }
}

struct Attempt {
  int family;
  const sockaddr* name;
  socklen_t size;
};

Result<Fd> try_one(const PostgresAddress& address, const Attempt& attempt,
                   Clock::time_point deadline, int cancel) {
  Fd socket(::socket(attempt.family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return no_way(address, std::strerror(errno));
  if (const int error = connect_until(socket.get(), attempt.name, attempt.size, deadline, cancel))
    return no_way(address, std::strerror(error));
  const int flags = ::fcntl(socket.get(), F_GETFL);
  if (flags < 0 || ::fcntl(socket.get(), F_SETFL, flags & ~O_NONBLOCK) != 0)
    return no_way(address, std::strerror(errno));
  return socket;
}

Result<Fd> try_address(const PostgresAddress& address, const std::string& text,
                       Clock::time_point deadline, int cancel) {
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(address.port);
  if (::inet_pton(AF_INET, text.c_str(), &name.sin_addr) == 1)
    return try_one(address, {AF_INET, reinterpret_cast<const sockaddr*>(&name), sizeof(name)},
                   deadline, cancel);
  sockaddr_in6 name6{};
  name6.sin6_family = AF_INET6;
  name6.sin6_port = htons(address.port);
  if (::inet_pton(AF_INET6, text.c_str(), &name6.sin6_addr) != 1)
    return no_way(address, quoted(text) + " is no address");
  return try_one(address, {AF_INET6, reinterpret_cast<const sockaddr*>(&name6), sizeof(name6)},
                 deadline, cancel);
}

}  // namespace

Result<Fd> connect_postgres(const PostgresAddress& address, std::chrono::milliseconds patience,
                            int cancel) {
  const Clock::time_point deadline = Clock::now() + patience;
  const std::string port = std::to_string(address.port);
  if (address.is_socket()) {
    const std::string path = address.host + "/.s.PGSQL." + port;
    sockaddr_un name{.sun_family = AF_UNIX, .sun_path = {}};
    if (path.size() >= sizeof(name.sun_path)) return no_way(address, std::strerror(ENAMETOOLONG));
    std::memcpy(name.sun_path, path.data(), path.size());
    return try_one(address, {AF_UNIX, reinterpret_cast<const sockaddr*>(&name), sizeof(name)},
                   deadline, cancel);
  }
  Result<Fd> socket = no_way(address, "it has no address");
  for (const std::string& each : address.addresses) {
    socket = try_address(address, each, deadline, cancel);
    if (socket) break;
  }
  if (socket) {
    const int on = 1;
    (void)::setsockopt(socket->get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  }
  return socket;
}

}  // namespace sallyport
