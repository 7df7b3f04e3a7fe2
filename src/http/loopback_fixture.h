// A server for tests of clients: answers each connection with the bytes that a function makes of
// the request's bytes.
#pragma once

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"

namespace sallyport {

class LoopbackServer {
 public:
  // Gets head and body of a request with a Content-Length or none; what it returns is sent, and the
  // connection closed.
  using Answer = std::function<std::string(const std::string& request)>;

  explicit LoopbackServer(Answer answer) : answer_(std::move(answer)) {
    listener_ = Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    ::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size);
    ::listen(listener_.get(), 64);
    ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~LoopbackServer() { stop(); }
  LoopbackServer(const LoopbackServer&) = delete;
  LoopbackServer& operator=(const LoopbackServer&) = delete;

  void stop() {
    if (!thread_.joinable()) return;
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
    listener_.reset();
  }

  [[nodiscard]] std::string url(const std::string& path = "") const {
    return "http://127.0.0.1:" + std::to_string(port_) + path;
  }
  [[nodiscard]] std::vector<std::string> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  static std::string receive(int client) {
    std::string text;
    char piece[65536];
    for (;;) {
      const std::size_t head = text.find("\r\n\r\n");
      if (head != std::string::npos) {
        const std::size_t field = text.find("Content-Length: ");
        const std::size_t length =
            field < head ? std::strtoul(text.c_str() + field + 16, nullptr, 10) : 0;
        if (text.size() >= head + 4 + length) return text;
      }
      const ssize_t size = ::recv(client, piece, sizeof(piece), 0);
      if (size <= 0) return text;
      text.append(piece, static_cast<std::size_t>(size));
    }
  }

  void serve() {
    for (;;) {
      const Fd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!client) return;
      std::string request = receive(client.get());
      const std::string reply = answer_(request);
      {
        const std::lock_guard lock(mutex_);
        requests_.push_back(std::move(request));
      }
      for (std::size_t sent = 0; sent < reply.size();) {
        const ssize_t size =
            ::send(client.get(), reply.data() + sent, reply.size() - sent, MSG_NOSIGNAL);
        if (size <= 0) break;
        sent += static_cast<std::size_t>(size);
      }
    }
  }

  Answer answer_;
  Fd listener_;
  std::uint16_t port_ = 0;
  mutable std::mutex mutex_;
  std::vector<std::string> requests_;
  std::thread thread_;
};

}  // namespace sallyport
