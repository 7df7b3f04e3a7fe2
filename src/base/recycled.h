// An allocator that keeps some of the memory that is given back: for large objects that one thread
// makes and another destroys all the time, which is what malloc is slowest at.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "base/short_mutex.h"

namespace sallyport {

template <class T>
class RecycledAllocator {
 public:
  using value_type = T;

  RecycledAllocator() = default;
  template <class Other>
  explicit(false) RecycledAllocator(const RecycledAllocator<Other>&) {}

  [[nodiscard]] T* allocate(std::size_t count) {
    if (count == 1) {
      Stock& own = stock();
      if (own.size == 0) fetch(own);
      if (own.size > 0) return own.places[--own.size];
    }
    return std::allocator<T>().allocate(count);
  }

  void deallocate(T* place, std::size_t count) {
    if (count != 1) return std::allocator<T>().deallocate(place, count);
    Stock& own = stock();
    if (own.size == kAtHand) bring(own, kAtHand / 2);
    own.places[own.size++] = place;
    if (own.closed) bring(own, 0);
  }

  template <class Other>
  bool operator==(const RecycledAllocator<Other>&) const {
    return true;
  }

 private:
  static constexpr std::size_t kMost = 256, kAtHand = 32;

  // What one thread has at hand, without a lock. It has no destructor: what other objects of the
  // thread give back when they end is still taken.
  struct Stock {
    std::array<T*, kAtHand> places;
    std::size_t size;
    bool closed;  // the thread ends: all goes to the others at once
  };
  static Stock& stock() {
    static thread_local Stock own{};
    static thread_local const Closer closer(own);
    return own;
  }
  struct Closer {
    explicit Closer(Stock& closed) : own(closed) {}
    Closer(const Closer&) = delete;
    Closer& operator=(const Closer&) = delete;
    ~Closer() {
      own.closed = true;
      bring(own, 0);
    }
    Stock& own;
  };

  struct Kept {
    Kept() { places.reserve(kMost); }  // giving back must not fail
    ShortMutex mutex;
    std::vector<T*> places;
  };
  // Never destroyed: threads may give back until the very end.
  static Kept& kept() {
    static Kept& all = *new Kept;
    return all;
  }

  // Half of what a thread can have at hand: one that only takes, and one that only gives back, come
  // here once in so many times.
  static void fetch(Stock& own) {
    if (own.closed) return;
    Kept& all = kept();
    const std::lock_guard lock(all.mutex);
    for (; own.size < kAtHand / 2 && !all.places.empty(); all.places.pop_back())
      own.places[own.size++] = all.places.back();
  }

  static void bring(Stock& own, std::size_t left) {
    Kept& all = kept();
    {
      const std::lock_guard lock(all.mutex);
      for (; own.size > left && all.places.size() < kMost; --own.size)
        all.places.push_back(own.places[own.size - 1]);
    }
    for (; own.size > left; --own.size)
      std::allocator<T>().deallocate(own.places[own.size - 1], 1);
  }
};

}  // namespace sallyport
