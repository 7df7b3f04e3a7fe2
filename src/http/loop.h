// One thread of the server: its sessions, their clock, and for the first one the listeners.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "http/session.h"

namespace sallyport {

class HttpLoop {
 public:
  // Holds at most `connections`. Null: the kernel has no more descriptors or memory.
  [[nodiscard]] static std::unique_ptr<HttpLoop> create(std::shared_ptr<HttpService> service,
                                                        std::size_t connections);
  virtual ~HttpLoop() = default;

  // Until it has been drained. The thread must have SIGPIPE blocked.
  virtual void run() = 0;

  // From any thread, before or during run():
  // Hands what comes in on `listeners` to `place`.
  virtual void listen(std::vector<HttpListener> listeners, std::function<void(Accepted)> place) = 0;
  virtual void serve(Accepted accepted) = 0;
  // Closes the connection that has been waited for the longest, so that its descriptor is free.
  virtual void free_one() = 0;
  virtual void drain(SteadyTime deadline) = 0;
  [[nodiscard]] virtual std::size_t connections() const = 0;
};

}  // namespace sallyport
