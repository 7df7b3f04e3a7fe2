// A name server for tests of lookups: answers each query with the messages that a function makes of
// it, over UDP and TCP on one port.
#pragma once

#include <arpa/inet.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "egress/dns_fixture.h"

namespace sallyport {

class DnsServer {
 public:
  using Answer = std::function<std::vector<std::string>(const std::string& query, bool tcp)>;

  explicit DnsServer(Answer answer) : answer_(std::move(answer)) {
    while (!listen()) {  // the port of the one is taken for the other
    }
    stop_ = Fd(::eventfd(0, EFD_CLOEXEC));
    thread_ = std::thread([this] { serve(); });
  }
  ~DnsServer() {
    ::eventfd_write(stop_.get(), 1);
    thread_.join();
  }
  DnsServer(const DnsServer&) = delete;
  DnsServer& operator=(const DnsServer&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::vector<std::string> queries() const {
    const std::lock_guard lock(mutex_);
    return queries_;
  }
  // From which they came over UDP.
  [[nodiscard]] std::set<std::uint16_t> ports() const {
    const std::lock_guard lock(mutex_);
    return ports_;
  }

 private:
  bool listen() {
    udp_ = Fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    tcp_ = Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const place = reinterpret_cast<sockaddr*>(&address);
    if (::bind(udp_.get(), place, size) != 0) return false;
    ::getsockname(udp_.get(), place, &size);
    port_ = ntohs(address.sin_port);
    return ::bind(tcp_.get(), place, size) == 0 && ::listen(tcp_.get(), 16) == 0;
  }

  void serve() {
    for (;;) {
      pollfd ready[] = {{stop_.get(), POLLIN, 0}, {udp_.get(), POLLIN, 0}, {tcp_.get(), POLLIN, 0}};
      ::poll(ready, 3, -1);
      if (ready[0].revents != 0) return;
      if (ready[1].revents != 0) answer_datagram();
      if (ready[2].revents != 0) answer_connection();
    }
  }

  std::vector<std::string> answers_to(const std::string& query, bool tcp) {
    const std::lock_guard lock(mutex_);
    queries_.push_back(query);
    return answer_(query, tcp);
  }

  void answer_datagram() {
    char bytes[4096];
    sockaddr_in from{};
    socklen_t size = sizeof(from);
    auto* const peer = reinterpret_cast<sockaddr*>(&from);
    const ssize_t length = ::recvfrom(udp_.get(), bytes, sizeof(bytes), 0, peer, &size);
    if (length < 0) return;
    {
      const std::lock_guard lock(mutex_);
      ports_.insert(ntohs(from.sin_port));
    }
    for (const std::string& answer :
         answers_to(std::string(bytes, static_cast<std::size_t>(length)), false))
      ::sendto(udp_.get(), answer.data(), answer.size(), 0, peer, size);
  }

  void answer_connection() {
    const Fd client(::accept4(tcp_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    unsigned char length[2];
    if (::recv(client.get(), length, 2, MSG_WAITALL) != 2) return;
    std::string query(std::size_t{length[0]} << 8 | length[1], '\0');
    if (::recv(client.get(), query.data(), query.size(), MSG_WAITALL) <= 0) return;
    for (const std::string& answer : answers_to(query, true)) {
      const std::string bytes = dns_number(answer.size(), 2) + answer;
      ::send(client.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    }
  }

  Answer answer_;
  Fd udp_, tcp_, stop_;
  std::uint16_t port_ = 0;
  mutable std::mutex mutex_;
  std::vector<std::string> queries_;
  std::set<std::uint16_t> ports_;
  std::thread thread_;
};

}  // namespace sallyport
