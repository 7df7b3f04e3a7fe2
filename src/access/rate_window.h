// When calls were admitted, as far back as the longest rate on them reaches: five bytes each.
//
// One list serves all rates on one key. A rate of N per window refuses as long as the Nth latest
// call lies within the window, so a check looks at one number, however many calls there were.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "sallyport/call_rate.h"

namespace sallyport {

// Microseconds on a clock that all users of one ledger share; wall clock for a state directory.
using Moment = std::chrono::microseconds;

// The longest window that can be counted; the policy file knows none beyond a day.
inline constexpr Duration kLongestWindow = std::chrono::days{10};

class RateWindow {
 public:
  // The moment from which one more call would be within `rate`; not after `now` if it is already.
  // Nothing: never. Windows are closed: two calls exactly a window apart are in the same one.
  [[nodiscard]] std::optional<Moment> free_from(const CallRate& rate, Moment now) const;

  // Calls at `since` and later.
  [[nodiscard]] std::uint32_t count_since(Moment since) const;

  // Remembers from now on all calls of at least `window`, which is at most kLongestWindow.
  void reach_back(Duration window);

  // Adds a call at `now`, which is not before any other; room is made for at most `most` calls
  // unless there are more.
  void add(Moment now, std::uint32_t most);

  // Takes back one call that was added at `at`. False: it is no longer remembered.
  bool remove(Moment at);

  // Forgets the calls that no rate can see any more.
  void expire(Moment now);

  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::uint32_t size() const { return size_; }
  [[nodiscard]] Moment at(std::uint32_t index) const;  // in order of time
  [[nodiscard]] Moment last() const { return at(size_ - 1); }
  // From this moment on nothing is remembered. There must be a call.
  [[nodiscard]] Moment forgets_at() const;
  [[nodiscard]] std::uint32_t reach_seconds() const { return reach_; }
  // Of the calls, without the object itself.
  [[nodiscard]] std::size_t bytes() const { return std::size_t{capacity_} * kEntry; }
  // What bytes() will be after an add() of the same `most`, at the most.
  [[nodiscard]] std::size_t bytes_after_add(std::uint32_t most) const;

 private:
  static constexpr std::size_t kEntry = 5;
  static constexpr std::int64_t kSpan = std::int64_t{1} << (8 * kEntry);  // 12.7 days

  [[nodiscard]] unsigned char* slot(std::uint32_t index) const {
    const std::uint64_t place = std::uint64_t{first_} + index;
    return &ring_[(place < capacity_ ? place : place - capacity_) * kEntry];
  }
  [[nodiscard]] std::int64_t offset(std::uint32_t index) const;
  void put(std::uint32_t index, std::int64_t offset);
  [[nodiscard]] std::uint32_t grown(std::uint32_t most) const;
  void resize(std::uint32_t capacity);
  [[nodiscard]] std::uint32_t first_not_before(Moment moment) const;

  std::unique_ptr<unsigned char[]> ring_;  // offsets from base_, little end first
  Moment base_{};
  std::uint32_t first_ = 0, size_ = 0, capacity_ = 0;
  std::uint32_t reach_ = 0;  // seconds, rounded up
};

}  // namespace sallyport
