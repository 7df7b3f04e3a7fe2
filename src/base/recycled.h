// An allocator that keeps some of the memory that is given back: for large objects that one thread
// makes and another destroys all the time, which is what malloc is slowest at.
#pragma once

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
      Kept& own = kept();
      const std::lock_guard lock(own.mutex);
      if (!own.places.empty()) {
        T* const place = own.places.back();
        own.places.pop_back();
        return place;
      }
    }
    return std::allocator<T>().allocate(count);
  }

  void deallocate(T* place, std::size_t count) {
    if (count == 1) {
      Kept& own = kept();
      const std::lock_guard lock(own.mutex);
      if (own.places.size() < kMost) return own.places.push_back(place);
    }
    std::allocator<T>().deallocate(place, count);
  }

  template <class Other>
  bool operator==(const RecycledAllocator<Other>&) const {
    return true;
  }

 private:
  static constexpr std::size_t kMost = 256;
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
};

}  // namespace sallyport
