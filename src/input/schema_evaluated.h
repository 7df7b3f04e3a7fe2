// Which items or properties of one value have been evaluated, for `unevaluatedItems` and
// `unevaluatedProperties`.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sallyport {

class EvaluatedSet {
 public:
  // Of a value with `size` items or properties; they are named by their position.
  explicit EvaluatedSet(std::size_t size) {
    if (size > kBits) more_.resize((size - 1) / kBits);
  }

  void add(std::size_t position) { word(position) |= bit(position); }
  void add_all() { all_ = true; }

  void add(const EvaluatedSet& other) {
    all_ = all_ || other.all_;
    first_ |= other.first_;
    for (std::size_t i = 0; i < more_.size(); ++i)
      more_[i] |= other.more_[i];
  }

  [[nodiscard]] bool has(std::size_t position) const {
    if (all_) return true;
    const std::uint64_t bits = position < kBits ? first_ : more_[position / kBits - 1];
    return (bits & bit(position)) != 0;
  }

  // What adding one to another counts for.
  [[nodiscard]] std::uint64_t cost() const { return 1 + more_.size() / 16; }

 private:
  static constexpr std::size_t kBits = 64;

  static std::uint64_t bit(std::size_t position) { return std::uint64_t{1} << position % kBits; }
  std::uint64_t& word(std::size_t position) {
    return position < kBits ? first_ : more_[position / kBits - 1];
  }

  bool all_ = false;
  std::uint64_t first_ = 0;
  std::vector<std::uint64_t> more_;
};

}  // namespace sallyport
