// How far the log is behind: the records that somebody waits for, and since when.
#pragma once

#include <cstdint>
#include <list>
#include <mutex>

#include "base/clock.h"

namespace sallyport {

class WriteWatch {
 private:
  struct Records {
    std::int64_t began;
    std::size_t count;
  };

 public:
  // Records that are being written, for as long as this lives.
  class Write {
   public:
    explicit Write(WriteWatch& watch, std::size_t records = 1)
        : watch_(watch), place_(watch.begin(records)) {}
    ~Write() { watch_.end(place_); }
    Write(const Write&) = delete;
    Write& operator=(const Write&) = delete;

   private:
    WriteWatch& watch_;
    std::list<Records>::iterator place_;
  };

  struct Lag {
    std::uint64_t waiting = 0;
    std::int64_t oldest_us = 0;  // since the oldest of them began; 0: there is none
  };
  [[nodiscard]] Lag lag(std::int64_t now_ns = monotonic_ns()) const {
    const std::lock_guard lock(mutex_);
    if (began_.empty()) return {};
    return {.waiting = waiting_, .oldest_us = (now_ns - began_.front().began) / 1000};
  }

 private:
  std::list<Records>::iterator begin(std::size_t count) {
    const std::lock_guard lock(mutex_);
    waiting_ += count;
    // In order: the clock is read in here.
    return began_.insert(began_.end(), {.began = monotonic_ns(), .count = count});
  }
  void end(std::list<Records>::iterator place) {
    const std::lock_guard lock(mutex_);
    waiting_ -= place->count;
    began_.erase(place);
  }

  mutable std::mutex mutex_;
  std::list<Records> began_;  // the oldest first
  std::uint64_t waiting_ = 0;
};

}  // namespace sallyport
