// What has come from a client and has not been looked at yet. Small while a connection is idle;
// what it grows by counts towards the budget of all.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

#include "http/byte_budget.h"

namespace sallyport {

class InputBuffer {
 public:
  static constexpr std::size_t kFirstSize = 2048;

  explicit InputBuffer(ByteBudget& budget) : share_(budget) {}

  [[nodiscard]] bool empty() const { return begin_ == end_; }
  [[nodiscard]] std::string_view bytes() const { return {store_.get() + begin_, end_ - begin_}; }
  void consume(std::size_t count) {
    begin_ += count;
    if (begin_ == end_) begin_ = end_ = 0;
  }

  [[nodiscard]] std::span<char> room() { return {store_.get() + end_, size_ - end_}; }
  void produced(std::size_t count) { end_ += count; }

  // Makes room for at least one byte, with a size of at most `most`. False: the budget is spent.
  [[nodiscard]] bool make_room(std::size_t most) {
    if (end_ < size_) return true;
    if (begin_ > 0) {
      std::memmove(store_.get(), store_.get() + begin_, end_ - begin_);
      end_ -= std::exchange(begin_, 0);
      return true;
    }
    const std::size_t larger = std::max(size_ + 1, std::min(most, std::max(kFirstSize, size_ * 2)));
    if (larger > kFirstSize && !share_.hold(larger - kFirstSize)) return false;
    auto grown = std::make_unique_for_overwrite<char[]>(larger);
    if (end_ > 0) std::memcpy(grown.get(), store_.get(), end_);
    store_ = std::move(grown);
    size_ = larger;
    return true;
  }

  // Gives back what an empty buffer has grown by.
  void shrink() {
    if (!empty() || size_ <= kFirstSize) return;
    store_.reset();
    size_ = 0;
    static_cast<void>(share_.hold(0));
  }

 private:
  ByteShare share_;
  std::unique_ptr<char[]> store_;
  std::size_t size_ = 0, begin_ = 0, end_ = 0;
};

}  // namespace sallyport
