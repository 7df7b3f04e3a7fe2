// Whether there is a launcher that answers. The keeper holds the launcher's socket open while it
// replaces one that died, so that being able to connect says nothing.
#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "base/error.h"
#include "base/fd.h"

namespace sallyport {

class LauncherWatch {
 public:
  // Watches the launcher behind the socket at `path`, with a thread of its own.
  explicit LauncherWatch(std::string path);
  LauncherWatch(const LauncherWatch&) = delete;
  LauncherWatch& operator=(const LauncherWatch&) = delete;
  ~LauncherWatch();

  // Never waits. An error: it has died, hangs, or has not answered yet.
  [[nodiscard]] Result<void> answers() const;

 private:
  enum class Heard { something, nothing, stop };

  void watch();
  [[nodiscard]] Fd greet() const;
  [[nodiscard]] Heard listen(int connection, std::chrono::milliseconds patience) const;

  std::string path_;
  Fd stop_;
  std::atomic<bool> answers_ = false;
  std::thread thread_;
};

}  // namespace sallyport
