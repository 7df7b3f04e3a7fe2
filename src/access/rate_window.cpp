#include "access/rate_window.h"

#include <algorithm>

namespace sallyport {
namespace {

constexpr Moment kTick{1};
constexpr std::uint32_t kLeastCapacity = 4;

}  // namespace

std::int64_t RateWindow::offset(std::uint32_t index) const {
  const unsigned char* from = slot(index);
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < kEntry; ++i)
    value |= std::uint64_t{from[i]} << (8 * i);
  return static_cast<std::int64_t>(value);
}

void RateWindow::put(std::uint32_t index, std::int64_t offset) {
  unsigned char* to = slot(index);
  for (std::size_t i = 0; i < kEntry; ++i)
    to[i] = static_cast<unsigned char>(static_cast<std::uint64_t>(offset) >> (8 * i));
}

Moment RateWindow::at(std::uint32_t index) const {
  return base_ + Moment{offset(index)};
}

std::optional<Moment> RateWindow::free_from(const CallRate& rate, Moment now) const {
  if (rate.count == 0) return std::nullopt;
  if (size_ < rate.count) return now;
  return at(size_ - rate.count) + rate.window + kTick;
}

std::uint32_t RateWindow::first_not_before(Moment moment) const {
  std::uint32_t low = 0, high = size_;
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (at(middle) < moment)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

std::uint32_t RateWindow::count_since(Moment since) const {
  // The usual case: what is older has been forgotten.
  if (size_ == 0 || at(0) >= since) return size_;
  return size_ - first_not_before(since);
}

void RateWindow::reach_back(Duration window) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(window).count();
  reach_ = std::max(reach_, static_cast<std::uint32_t>(seconds));
}

Moment RateWindow::forgets_at() const {
  return last() + std::chrono::seconds{reach_} + kTick;
}

void RateWindow::expire(Moment now) {
  const Moment oldest = now - std::chrono::seconds{reach_};
  while (size_ > 0 && at(0) < oldest) {
    first_ = (first_ + 1) % capacity_;
    --size_;
  }
}

std::uint32_t RateWindow::grown(std::uint32_t most) const {
  if (size_ < capacity_) return capacity_;
  // Half as much again, but no further than the rate can fill: a full window has no slack.
  const std::uint64_t wanted =
      std::max<std::uint64_t>(kLeastCapacity, std::uint64_t{capacity_} * 3 / 2);
  return static_cast<std::uint32_t>(
      std::max<std::uint64_t>(std::min<std::uint64_t>(wanted, most), std::uint64_t{size_} + 1));
}

std::size_t RateWindow::bytes_after_add(std::uint32_t most) const {
  return std::size_t{grown(most)} * kEntry;
}

void RateWindow::resize(std::uint32_t capacity) {
  auto ring = std::make_unique<unsigned char[]>(std::size_t{capacity} * kEntry);
  for (std::uint32_t i = 0; i < size_; ++i)
    std::copy_n(slot(i), kEntry, &ring[std::size_t{i} * kEntry]);
  ring_ = std::move(ring);
  first_ = 0;
  capacity_ = capacity;
}

void RateWindow::add(Moment now, std::uint32_t most) {
  expire(now);
  if (const std::uint32_t capacity = grown(most); capacity != capacity_) resize(capacity);
  if (size_ == 0) base_ = now;
  if ((now - base_).count() >= kSpan) {
    const Moment shift = at(0) - base_;  // what is left is at most kLongestWindow old
    for (std::uint32_t i = 0; i < size_; ++i)
      put(i, offset(i) - shift.count());
    base_ += shift;
  }
  put(size_++, (now - base_).count());
}

bool RateWindow::remove(Moment moment) {
  const std::uint32_t found = first_not_before(moment);
  if (found == size_ || at(found) != moment) return false;
  for (std::uint32_t i = found; i + 1 < size_; ++i)
    put(i, offset(i + 1));
  --size_;
  return true;
}

}  // namespace sallyport
