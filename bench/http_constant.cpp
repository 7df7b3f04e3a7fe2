// What the HTTP server costs without anything behind it: every request gets the same short answer.
//
//   http_constant [PORT [THREADS]]      then: wrk -c32 -t2 http://127.0.0.1:PORT/
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "http/server.h"

int main(int argc, char** argv) {
  using namespace sallyport;
  const int port = argc > 1 ? std::atoi(argv[1]) : 8641;
  HttpSettings settings{.threads = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 2};
  Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{.sin_family = AF_INET, .sin_port = htons(static_cast<std::uint16_t>(port))};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(socket.get(), 1024) != 0) {
    std::perror("http_constant: listen");
    return 1;
  }
  settings.listeners.push_back({.socket = std::move(socket)});
  auto server = HttpServer::open(
      std::move(settings),
      [](const HttpRequest&, Responder responder) { responder.send({.body = "{\"ok\":true}"}); },
      nullptr);
  if (!server) {
    std::fprintf(stderr, "http_constant: %s\n", server.error().message.c_str());
    return 1;
  }
  (*server)->run();
}
