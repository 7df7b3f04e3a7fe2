// One cell as the egress process knows it: its rules, what it has used of them, and everything that
// is open for it. All cells live on one thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/udp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "egress/authority.h"
#include "egress/door.h"
#include "egress/grants.h"
#include "egress/host_trust.h"
#include "egress/link.h"
#include "egress/name_lookup.h"
#include "egress/network_map.h"
#include "egress/watchdog.h"

namespace sallyport {

// What the process knows of the world outside, for all cells.
struct Outside {
  std::string resolv_conf{}, hosts{};             // as the last cell brought them
  std::shared_ptr<const LookupSettings> lookups;  // made of them
  HostTrust trust;
  Secrets secrets;
};

class ServedCell {
 public:
  static constexpr std::size_t kMostNames = 200;   // that are noted
  static constexpr std::size_t kMostNotes = 1000;  // of any kind

  // `authority`: null if none of its hosts is inspected.
  ServedCell(boost::asio::io_context& io, Outside& outside, NetworkMap map,
             std::vector<std::string> placeholders, std::unique_ptr<Authority> authority,
             Fd channel);
  ~ServedCell();
  ServedCell(const ServedCell&) = delete;
  ServedCell& operator=(const ServedCell&) = delete;

  [[nodiscard]] const NetworkMap& map() const { return map_; }
  [[nodiscard]] boost::asio::io_context& io() const { return io_; }
  [[nodiscard]] const LookupSettings& lookups() const { return *lookups_; }
  [[nodiscard]] HostTrust& trust() const { return outside_.trust; }
  [[nodiscard]] Authority* authority() const { return authority_.get(); }
  [[nodiscard]] Grants& grants() { return grants_; }
  [[nodiscard]] Secrets& secrets() const { return outside_.secrets; }
  [[nodiscard]] boost::asio::posix::stream_descriptor& channel() { return channel_; }
  [[nodiscard]] bool ended() const { return ended_; }

  // The cell is gone: all that is open for it is closed.
  void end();

  // For the supervisor.
  void note(const NetworkEvent& event);
  // What there was no room for, in one line. False: there is none for that either.
  [[nodiscard]] bool note_unlisted();
  // Once per name and verdict: a program may ask for one name a thousand times.
  void note_name(std::string name, bool allowed);

  // One more connection or request; false: no more of them.
  [[nodiscard]] bool take_request();
  // One more TLS handshake, which costs this process far more than it costs the cell; false: it has
  // had more than any number of requests needs.
  [[nodiscard]] bool take_handshake();
  // Bytes from and to the cell; false: it has had as many as it may.
  [[nodiscard]] bool count_sent(std::size_t bytes);
  [[nodiscard]] bool count_received(std::size_t bytes);

  // Whatever is to be closed when the cell ends, or when its own time is up, stands in this list
  // while it is open.
  class Open {
   public:
    Open(ServedCell& cell, Link& link) : cell_(cell), link_(link) {
      cell_.open_.insert(&link_);
      if (const Duration time = cell.map().rules().time; time > Duration::zero())
        bound_.emplace(cell.io(), link, std::chrono::ceil<std::chrono::milliseconds>(time));
    }
    ~Open() { cell_.open_.erase(&link_); }
    Open(const Open&) = delete;
    Open& operator=(const Open&) = delete;

   private:
    ServedCell& cell_;
    Link& link_;
    std::optional<Watchdog> bound_;
  };

  // By which statements of this cell can be cancelled: "HOST:PORT KEY", while they may run.
  std::multiset<std::string> cancel_keys;

  std::vector<boost::asio::ip::tcp::acceptor> listeners;
  boost::asio::ip::udp::socket names;

  // Counts one connection while it lasts.
  class Connection {
   public:
    explicit Connection(ServedCell& cell) : cell_(cell) { ++cell_.connections_; }
    ~Connection() { --cell_.connections_; }
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

   private:
    ServedCell& cell_;
  };
  [[nodiscard]] std::size_t connections() const { return connections_; }

 private:
  boost::asio::io_context& io_;
  Outside& outside_;
  std::shared_ptr<const LookupSettings> lookups_;
  NetworkMap map_;
  Grants grants_;
  std::unique_ptr<Authority> authority_;
  boost::asio::posix::stream_descriptor channel_;
  std::set<Link*> open_;
  std::size_t connections_ = 0;
  std::set<std::pair<std::string, bool>> noted_names_;
  std::size_t notes_ = 0;
  NetworkEvent unlisted_;
  std::uint64_t unlisted_count_ = 0;
  std::uint64_t requests_ = 0, handshakes_ = 0, sent_ = 0, received_ = 0;
  bool ended_ = false;
};

}  // namespace sallyport
