#include "cell/egress_points.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <string>

namespace sallyport {
namespace {

std::string congestion_control_of(const Fd& socket) {
  char name[16] = {};
  socklen_t size = sizeof(name);
  EXPECT_EQ(::getsockopt(socket.get(), IPPROTO_TCP, TCP_CONGESTION, name, &size), 0);
  return name;
}

// The default of the machine that the tests run on may be that anyway: what counts is that a
// connection has it whatever the default is.
TEST(EgressPoints, AConnectionOfACellIsNotPaced) {
  auto listener = listen_at({.address = INADDR_LOOPBACK, .port = 0});
  ASSERT_TRUE(listener);
  sockaddr_in place{};
  socklen_t size = sizeof(place);
  ASSERT_EQ(::getsockname(listener->get(), reinterpret_cast<sockaddr*>(&place), &size), 0);
  const Fd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::connect(client.get(), reinterpret_cast<const sockaddr*>(&place), sizeof(place)), 0);
  pollfd waiting{.fd = listener->get(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(::poll(&waiting, 1, 10'000), 1);
  const Fd accepted(::accept4(listener->get(), nullptr, nullptr, SOCK_CLOEXEC));
  ASSERT_TRUE(accepted);
  EXPECT_EQ(congestion_control_of(*listener), "reno");
  EXPECT_EQ(congestion_control_of(accepted), "reno");
}

TEST(EgressPoints, APortThatIsTakenIsAnError) {
  auto first = listen_at({.address = INADDR_LOOPBACK, .port = 0});
  ASSERT_TRUE(first);
  sockaddr_in place{};
  socklen_t size = sizeof(place);
  ASSERT_EQ(::getsockname(first->get(), reinterpret_cast<sockaddr*>(&place), &size), 0);
  const auto second = listen_at({.address = INADDR_LOOPBACK, .port = ntohs(place.sin_port)});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().err, EADDRINUSE);
}

}  // namespace
}  // namespace sallyport
