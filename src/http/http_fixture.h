// A server on a free port, and a client that sends exactly the bytes it is told to.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <chrono>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "http/server.h"

namespace sallyport {

inline Fd listening_socket(std::uint16_t& port, int family = AF_INET) {
  Fd socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_storage address{};
  socklen_t size = 0;
  if (family == AF_INET) {
    auto& v4 = reinterpret_cast<sockaddr_in&>(address);
    v4.sin_family = AF_INET;
    v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    size = sizeof v4;
  } else {
    auto& v6 = reinterpret_cast<sockaddr_in6&>(address);
    v6.sin6_family = AF_INET6;
    size = sizeof v6;  // every address, IPv4 as well
  }
  EXPECT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(::listen(socket.get(), 1024), 0);
  EXPECT_EQ(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  port = ntohs(reinterpret_cast<sockaddr_in&>(address).sin_port);
  return socket;
}

class RawClient {
 public:
  // A small `receive_buffer` makes a slow reader felt soon.
  explicit RawClient(std::uint16_t port, int receive_buffer = 0)
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval patience{.tv_sec = 30, .tv_usec = 0};  // a test fails rather than hangs
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (receive_buffer > 0)
      ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    sockaddr_in address{.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  explicit RawClient(Fd socket) : socket_(std::move(socket)) {}

  [[nodiscard]] int fd() const { return socket_.get(); }
  void close() { socket_.reset(); }
  void finish() { ::shutdown(socket_.get(), SHUT_WR); }

  // False: the server has closed.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
  }

  // Whether something came, or the end, within that time.
  [[nodiscard]] bool readable(int milliseconds) {
    pollfd poll{.fd = socket_.get(), .events = POLLIN};
    return ::poll(&poll, 1, milliseconds) == 1;
  }

  // At most that many bytes; empty: the end.
  std::string read_some(std::size_t most = 65536) {
    std::string bytes(most, '\0');
    const ssize_t count = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
    bytes.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    return bytes;
  }

  // Everything up to the end.
  std::string read_all() {
    for (std::string bytes; !(bytes = read_some()).empty();)
      buffer_ += bytes;
    return std::exchange(buffer_, {});
  }

  // One answer with a Content-Length; what is there of it if the end comes first.
  std::string read_answer() {
    for (;;) {
      const std::size_t end = buffer_.find("\r\n\r\n");
      if (end != std::string::npos) {
        const std::size_t at = buffer_.find("Content-Length: ");
        const std::size_t body = at < end ? std::stoul(buffer_.substr(at + 16)) : 0;
        if (buffer_.size() >= end + 4 + body) {
          std::string answer = buffer_.substr(0, end + 4 + body);
          buffer_.erase(0, answer.size());
          return answer;
        }
      }
      const std::string bytes = read_some();
      if (bytes.empty()) return std::exchange(buffer_, {});
      buffer_ += bytes;
    }
  }

  // Up to and with that text.
  std::string read_until(std::string_view text) {
    for (;;) {
      if (const std::size_t at = buffer_.find(text); at != std::string::npos) {
        std::string bytes = buffer_.substr(0, at + text.size());
        buffer_.erase(0, bytes.size());
        return bytes;
      }
      const std::string bytes = read_some();
      if (bytes.empty()) return std::exchange(buffer_, {});
      buffer_ += bytes;
    }
  }

 private:
  Fd socket_;
  std::string buffer_;
};

// What `answer` says as its status; 0: nothing.
inline unsigned status_in(std::string_view answer) {
  return answer.size() > 12 && answer.starts_with("HTTP/1.1 ")
             ? static_cast<unsigned>(std::stoi(std::string(answer.substr(9, 3))))
             : 0;
}
inline std::string body_in(std::string_view answer) {
  const std::size_t end = answer.find("\r\n\r\n");
  return std::string(end == std::string_view::npos ? "" : answer.substr(end + 4));
}

// Says what it got: "GET /path?query body address certificate".
inline void echo(const HttpRequest& request, Responder responder) {
  responder.send({.body = request.method + " " + request.path + "?" + request.query + " " +
                          request.body + " " + request.address + " " + request.client_certificate,
                  .type = "text/plain"});
}

class TestServer {
 public:
  explicit TestServer(HttpHandler handler = echo, HttpSettings settings = {},
                      int family = AF_INET) {
    const bool tls = !settings.tls.certificate.empty();
    settings.listeners.push_back({.socket = listening_socket(port_, family), .tls = tls});
    auto opened = HttpServer::open(
        std::move(settings), std::move(handler), [](unsigned status, std::string_view sentence) {
          return HttpResponse{.status = status, .body = std::string(sentence)};
        });
    EXPECT_TRUE(opened) << opened.error().message;
    server_ = *std::move(opened);
    thread_ = std::thread([this] { server_->run(); });
  }
  TestServer(const TestServer&) = delete;
  TestServer& operator=(const TestServer&) = delete;
  ~TestServer() {
    if (thread_.joinable()) {
      server_->drain(std::chrono::milliseconds(0));
      thread_.join();
    }
  }

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] HttpServer& server() { return *server_; }
  // Until run() has returned.
  void join() { thread_.join(); }

  // All that is answered to these bytes until the server closes.
  std::string ask(std::string_view bytes) {
    RawClient client(port_);
    client.send(bytes);
    return client.read_all();
  }

  // Waits until that is so; fails, rather than hangs, if it never is.
  template <class Condition>
  void until(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!condition(server_->numbers())) {
      ASSERT_LT(std::chrono::steady_clock::now(), end);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

 private:
  std::uint16_t port_ = 0;
  std::unique_ptr<HttpServer> server_;
  std::thread thread_;
};

inline const std::string kGet = "GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n";
inline const std::string kLastGet =
    "GET /x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

inline std::string post(std::string_view body, std::string_view headers = "") {
  return "POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n" + std::string(headers) + "\r\n" + std::string(body);
}
inline const std::string kPostHead = "POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: ";

}  // namespace sallyport
