// Closes a connection that does not get on in time.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>

#include "egress/link.h"

namespace sallyport {

class Watchdog {
 public:
  Watchdog(boost::asio::io_context& io, Link& link, std::chrono::milliseconds patience)
      : timer_(io, patience), awake_(std::make_shared<bool>(true)) {
    timer_.async_wait([awake = awake_, &link](const boost::system::error_code& error) {
      if (!error && *awake) link.close();
    });
  }
  // What waits in the loop by now finds it asleep.
  ~Watchdog() { *awake_ = false; }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  boost::asio::steady_timer timer_;
  std::shared_ptr<bool> awake_;
};

}  // namespace sallyport
