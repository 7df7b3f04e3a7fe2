// A queue whose things arrive nearly in the order in which they leave.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace sallyport {

// Things in their order, in which they nearly come: cheaper than a heap.
template <class Thing>
class NearlySorted {
 public:
  [[nodiscard]] bool empty() const { return head_ == all_.size(); }
  [[nodiscard]] const Thing& front() const { return all_[head_]; }

  void push(const Thing& thing) {
    const bool in_order = empty() || !(thing < all_.back());
    all_.push_back(thing);
    if (!in_order) sink_last();
  }

  [[nodiscard]] std::span<const Thing> all() const { return std::span(all_).subspan(head_); }

  [[nodiscard]] const Thing& back() const { return all_.back(); }
  void pop_back() { all_.pop_back(); }

  void pop() {
    constexpr std::size_t kMostGone = 8192;
    if (++head_ == all_.size()) {
      all_.clear();
      head_ = 0;
    } else if (head_ >= kMostGone) {
      all_.erase(all_.begin(), all_.begin() + static_cast<std::ptrdiff_t>(head_));
      head_ = 0;
    }
  }

 private:
  void sink_last() {
    const Thing thing = all_.back();
    std::size_t at = all_.size() - 1;
    for (; at > head_ && thing < all_[at - 1]; --at)
      all_[at] = all_[at - 1];
    all_[at] = thing;
  }

  std::vector<Thing> all_;
  std::size_t head_ = 0;
};

}  // namespace sallyport
