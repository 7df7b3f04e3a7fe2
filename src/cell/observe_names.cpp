#include "cell/observe_names.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "cell/observe.h"

namespace sallyport {
namespace {

constexpr std::size_t kLongestDatagram = 512;
constexpr int kDatagramsAtATime = 64;
constexpr std::uint16_t kTypePtr = 12;

}  // namespace

Sys<Fd> make_name_server() {
  Fd server(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!server) return sys_fail("socket", "name server");
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_port = htons(kNameServerPort);
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::bind(server.get(), reinterpret_cast<const sockaddr*>(&place), sizeof(place)) != 0)
    return sys_fail("bind", "name server");
  return server;
}

void answer_names(int socket, Observation& notes) {
  for (int i = 0; i < kDatagramsAtATime; ++i) {
    char bytes[kLongestDatagram + 1];
    sockaddr_in from{};
    socklen_t from_size = sizeof(from);
    const ssize_t size = ::recvfrom(socket, bytes, sizeof(bytes), MSG_DONTWAIT,
                                    reinterpret_cast<sockaddr*>(&from), &from_size);
    if (size < 0) return;
    const std::string_view datagram(bytes, static_cast<std::size_t>(size));
    const auto question = parse_name_question(datagram);
    if (!question) {
      ++notes.unreadable;
      continue;
    }
    // A name for an address is nothing that could be connected to.
    const auto address =
        question->type == kTypePtr ? kFirstNamedAddress - 1 : notes.address_of(question->name);
    if (!address) continue;
    const std::string answer = answer_to(datagram, *question, {.address = address});
    static_cast<void>(::sendto(socket, answer.data(), answer.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
                               reinterpret_cast<const sockaddr*>(&from), from_size));
  }
}

}  // namespace sallyport
