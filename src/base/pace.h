// Whether something that is done again and again is quick: a thread that must not be held up may do
// it itself, without another thread to wait for it. It has to prove that first, by being quick for
// a while; once it has held somebody up, for longer than before.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace sallyport {

class Pace {
 public:
  struct Bounds {
    std::int64_t usual_ns;  // what it may take on average
    std::int64_t most_ns;   // what it may take at all
    std::uint32_t proof;    // how often it has to be within that first
  };
  explicit Pace(Bounds bounds) : bounds_(bounds), needed_(bounds.proof) {}

  // Both from any thread. What two of them say at the same time may count once.
  void took(std::int64_t ns) {
    const std::int64_t average = average_ns_.load(std::memory_order_relaxed);
    average_ns_.store(average + (ns - average) / kWeight, std::memory_order_relaxed);
    const std::uint32_t needed = needed_.load(std::memory_order_relaxed);
    const std::uint32_t proven = proven_.load(std::memory_order_relaxed);
    if (ns > bounds_.most_ns) {
      proven_.store(0, std::memory_order_relaxed);
      needed_.store(std::min(needed * 2, bounds_.proof * kMostProofs), std::memory_order_relaxed);
    } else if (proven < needed) {
      proven_.store(proven + 1, std::memory_order_relaxed);
    }
  }
  [[nodiscard]] bool is_quick() const {
    return proven_.load(std::memory_order_relaxed) >= needed_.load(std::memory_order_relaxed) &&
           average_ns_.load(std::memory_order_relaxed) <= bounds_.usual_ns;
  }

 private:
  static constexpr std::int64_t kWeight = 16;  // of one in the average: one sixteenth
  static constexpr std::uint32_t kMostProofs = 1024;

  Bounds bounds_;
  std::atomic<std::int64_t> average_ns_ = 0;
  std::atomic<std::uint32_t> proven_ = 0, needed_;
};

}  // namespace sallyport
