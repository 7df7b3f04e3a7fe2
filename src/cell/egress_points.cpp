#include "cell/egress_points.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <string_view>

namespace sallyport {
namespace {

// What a machine chooses for its networks may pace what it sends by a timer (BBR). Here the way
// leads through memory: nothing is lost on it, and every pause is one too many. Reno never pauses,
// is in every kernel, and every user may choose it. A kernel that says no is only slower.
void choose_congestion_control(const Fd& listener) {
  constexpr std::string_view kReno = "reno";
  static_cast<void>(::setsockopt(listener.get(), IPPROTO_TCP, TCP_CONGESTION, kReno.data(),
                                 static_cast<socklen_t>(kReno.size())));
}

}  // namespace

Sys<Fd> listen_at(const EgressPoint& point) {
  Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener) return sys_fail("socket", "egress");
  choose_congestion_control(listener);
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_port = htons(point.port);
  place.sin_addr.s_addr = htonl(point.address);
  if (::bind(listener.get(), reinterpret_cast<const sockaddr*>(&place), sizeof(place)) != 0)
    return sys_fail("bind", "egress");
  if (::listen(listener.get(), SOMAXCONN) != 0) return sys_fail("listen", "egress");
  return listener;
}

}  // namespace sallyport
