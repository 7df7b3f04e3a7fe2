// The two ends of `bench/egress`: an HTTPS server that sends as many bytes as it is asked for, and
// a client that asks directly or through an HTTP proxy, and prints what it measured.
//
//   bench_egress server CERTIFICATE KEY ADDRESS PORT
//   bench_egress first HOST PORT COUNT [PROXY:PORT]          microseconds per new connection
//   bench_egress download HOST PORT MEGABYTES [PROXY:PORT]   megabytes per second
//   bench_egress rate HOST PORT SECONDS [PROXY:PORT]         connections with one answer, per
//   second
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kPiece = std::size_t{64} << 10;

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::exit(1);
}

struct FreeSsl {
  void operator()(SSL* ssl) const {
    ::close(SSL_get_fd(ssl));
    SSL_free(ssl);
  }
};
using Connection = std::unique_ptr<SSL, FreeSsl>;

// Appends what comes to `text` until a head is whole; its size, or 0 if the connection ends first.
std::size_t read_head(SSL* connection, std::string& text) {
  for (;;) {
    if (const auto end = text.find("\r\n\r\n"); end != std::string::npos) return end + 4;
    char room[1024];
    const int part = SSL_read(connection, room, sizeof(room));
    if (part <= 0) return 0;
    text.append(room, static_cast<std::size_t>(part));
  }
}

bool write_all(SSL* connection, std::string_view text) {
  return SSL_write(connection, text.data(), static_cast<int>(text.size())) ==
         static_cast<int>(text.size());
}

// ---- The server: GET /N is answered with N bytes.

void answer(SSL_CTX* context, int socket) {
  const Connection connection(SSL_new(context));
  SSL_set_fd(connection.get(), socket);
  if (SSL_accept(connection.get()) != 1) return;
  const std::string piece(kPiece, 'x');
  std::string request;
  while (const std::size_t end = read_head(connection.get(), request)) {
    std::uint64_t wanted = 0;
    std::from_chars(request.data() + std::strlen("GET /"), request.data() + end, wanted);
    request.erase(0, end);
    if (!write_all(connection.get(),
                   "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(wanted) + "\r\n\r\n"))
      return;
    while (wanted > 0) {
      const auto part = static_cast<int>(std::min<std::uint64_t>(wanted, piece.size()));
      if (SSL_write(connection.get(), piece.data(), part) != part) return;
      wanted -= static_cast<std::uint64_t>(part);
    }
  }
}

int serve(const char* certificate, const char* key, const char* address, const char* port) {
  SSL_CTX* context = SSL_CTX_new(TLS_server_method());
  if (SSL_CTX_use_certificate_chain_file(context, certificate) != 1 ||
      SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1)
    fail("certificate");
  SSL_CTX_set_num_tickets(context, 0);
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  const int on = 1;
  ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_port = htons(static_cast<std::uint16_t>(std::atoi(port)));
  ::inet_pton(AF_INET, address, &place.sin_addr);
  if (::bind(listener, reinterpret_cast<sockaddr*>(&place), sizeof(place)) != 0 ||
      ::listen(listener, 1024) != 0)
    fail("listen");
  for (;;) {
    const int socket = ::accept(listener, nullptr, nullptr);
    if (socket < 0) continue;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    std::thread(answer, context, socket).detach();
  }
}

// ---- The client

struct Target {
  std::string host, port, proxy_host, proxy_port;
};

int dial(const std::string& host, const std::string& port) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  if (::getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) fail("getaddrinfo");
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  if (::connect(socket, found->ai_addr, found->ai_addrlen) != 0) fail("connect");
  ::freeaddrinfo(found);
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  return socket;
}

Connection connect(SSL_CTX* context, const Target& target) {
  const bool proxied = !target.proxy_host.empty();
  const int socket =
      proxied ? dial(target.proxy_host, target.proxy_port) : dial(target.host, target.port);
  if (proxied) {
    const std::string place = target.host + ":" + target.port;
    const std::string ask = "CONNECT " + place + " HTTP/1.1\r\nHost: " + place + "\r\n\r\n";
    if (::send(socket, ask.data(), ask.size(), 0) < 0) fail("CONNECT");
    std::string reply;
    while (reply.find("\r\n\r\n") == std::string::npos) {
      char byte = 0;
      if (::recv(socket, &byte, 1, 0) != 1) fail("proxy");
      reply.push_back(byte);
    }
    if (reply.find(" 200") == std::string::npos) fail("the proxy refused");
  }
  Connection connection(SSL_new(context));
  SSL_set_fd(connection.get(), socket);
  SSL_set_tlsext_host_name(connection.get(), target.host.c_str());
  if (SSL_connect(connection.get()) != 1) fail("TLS");
  return connection;
}

void fetch(SSL* connection, const Target& target, std::uint64_t bytes) {
  std::vector<char> room(kPiece);
  if (!write_all(connection, "GET /" + std::to_string(bytes) + " HTTP/1.1\r\nHost: " + target.host +
                                 "\r\n\r\n"))
    fail("write");
  std::string answer;
  const std::size_t head = read_head(connection, answer);
  if (head == 0 || !answer.starts_with("HTTP/1.1 200")) fail("answer");
  bytes -= answer.size() - head;
  while (bytes > 0) {
    const int part = SSL_read(connection, room.data(), static_cast<int>(room.size()));
    if (part <= 0) fail("read");
    bytes -= static_cast<std::uint64_t>(part);
  }
}

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

int measure(std::string_view what, const Target& target, unsigned amount) {
  SSL_CTX* context = SSL_CTX_new(TLS_client_method());  // what is measured is not the check
  if (what == "first") {
    for (unsigned i = 0; i < amount; ++i) {
      const auto begin = Clock::now();
      fetch(connect(context, target).get(), target, 1);
      std::printf("%.1f\n", seconds_since(begin) * 1e6);
    }
  } else if (what == "download") {
    const Connection connection = connect(context, target);
    fetch(connection.get(), target, std::uint64_t{1} << 20);  // the windows are open by now
    const auto begin = Clock::now();
    fetch(connection.get(), target, std::uint64_t{amount} * 1'000'000);
    std::printf("%.1f\n", amount / seconds_since(begin));
  } else {
    std::atomic<unsigned> made{0};
    const auto begin = Clock::now();
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i)
      threads.emplace_back([&] {
        while (seconds_since(begin) < amount) {
          fetch(connect(context, target).get(), target, 1);
          ++made;
        }
      });
    for (std::thread& thread : threads)
      thread.join();
    std::printf("%.1f\n", made / seconds_since(begin));
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  ::signal(SIGPIPE, SIG_IGN);
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "server" && argc == 6) return serve(argv[2], argv[3], argv[4], argv[5]);
  if ((what != "first" && what != "download" && what != "rate") || argc < 5) {
    std::fputs("usage: see the first lines of bench/egress.cpp\n", stderr);
    return 2;
  }
  Target target{.host = argv[2], .port = argv[3], .proxy_host = {}, .proxy_port = {}};
  if (argc > 5) {
    const std::string proxy = argv[5];
    target.proxy_host = proxy.substr(0, proxy.find(':'));
    target.proxy_port = proxy.substr(proxy.find(':') + 1);
  }
  return measure(what, target, static_cast<unsigned>(std::atoi(argv[4])));
}
