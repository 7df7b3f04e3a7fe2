// How many bytes all connections together may hold for what clients are sending.
#pragma once

#include <atomic>
#include <cstddef>

namespace sallyport {

class ByteBudget {
 public:
  explicit ByteBudget(std::size_t most) : most_(most) {}

  [[nodiscard]] bool take(std::size_t bytes) {
    if (used_.fetch_add(bytes, std::memory_order_relaxed) + bytes <= most_) return true;
    give_back(bytes);
    return false;
  }
  void give_back(std::size_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }
  [[nodiscard]] std::size_t used() const { return used_.load(std::memory_order_relaxed); }

 private:
  std::size_t most_;
  std::atomic<std::size_t> used_ = 0;
};

// The part of a budget that one buffer holds; given back when it goes.
class ByteShare {
 public:
  explicit ByteShare(ByteBudget& budget) : budget_(budget) {}
  ByteShare(const ByteShare&) = delete;
  ByteShare& operator=(const ByteShare&) = delete;
  ~ByteShare() { budget_.give_back(held_); }

  // Makes it that many bytes. False: there are not as many left; nothing is changed.
  [[nodiscard]] bool hold(std::size_t bytes) {
    if (bytes > held_ && !budget_.take(bytes - held_)) return false;
    if (bytes < held_) budget_.give_back(held_ - bytes);
    held_ = bytes;
    return true;
  }

 private:
  ByteBudget& budget_;
  std::size_t held_ = 0;
};

}  // namespace sallyport
