// How far the log is behind: the records that somebody waits for, and since when.
#pragma once

#include <cstdint>
#include <list>
#include <mutex>

#include "base/clock.h"

namespace sallyport {

class WriteWatch {
 public:
  // One record that is being written, for as long as this lives.
  class Write {
   public:
    explicit Write(WriteWatch& watch) : watch_(watch), place_(watch.begin()) {}
    ~Write() { watch_.end(place_); }
    Write(const Write&) = delete;
    Write& operator=(const Write&) = delete;

   private:
    WriteWatch& watch_;
    std::list<std::int64_t>::iterator place_;
  };

  struct Lag {
    std::uint64_t waiting = 0;
    std::int64_t oldest_us = 0;  // since the oldest of them began; 0: there is none
  };
  [[nodiscard]] Lag lag(std::int64_t now_ns = monotonic_ns()) const {
    const std::lock_guard lock(mutex_);
    if (began_.empty()) return {};
    return {.waiting = began_.size(), .oldest_us = (now_ns - began_.front()) / 1000};
  }

 private:
  std::list<std::int64_t>::iterator begin() {
    const std::lock_guard lock(mutex_);
    return began_.insert(began_.end(), monotonic_ns());  // in order: the clock is read in here
  }
  void end(std::list<std::int64_t>::iterator place) {
    const std::lock_guard lock(mutex_);
    began_.erase(place);
  }

  mutable std::mutex mutex_;
  std::list<std::int64_t> began_;  // the oldest first
};

}  // namespace sallyport
