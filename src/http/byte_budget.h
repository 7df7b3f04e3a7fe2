// How many bytes all connections together may hold for what clients are sending.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

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

// The same for each of many who are told apart by a key.
class ByteBudgets {
 public:
  explicit ByteBudgets(std::size_t most_of_one) : most_of_one_(most_of_one) {}

  [[nodiscard]] bool take(const std::string& key, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto used = used_.try_emplace(key, 0).first;
    const bool fits = bytes <= most_of_one_ && used->second <= most_of_one_ - bytes;
    if (fits) used->second += bytes;
    if (used->second == 0) used_.erase(used);
    return fits;
  }
  void give_back(const std::string& key, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto used = used_.find(key);
    if (used == used_.end()) return;
    used->second -= bytes;
    if (used->second == 0) used_.erase(used);
  }

 private:
  std::size_t most_of_one_;
  std::mutex mutex_;
  std::map<std::string, std::size_t> used_;  // of those who hold something
};

// What one body that is being received holds of both: of everybody's, and of what its sender may.
class BodyShare {
 public:
  // So much of a body is everybody's alone: a short call is not refused because its caller uploads.
  static constexpr std::size_t kSmall = 4096;

  BodyShare(ByteBudget& all, ByteBudgets& each, std::string key)
      : all_(all), each_(each), key_(std::move(key)) {}
  BodyShare(const BodyShare&) = delete;
  BodyShare& operator=(const BodyShare&) = delete;
  ~BodyShare() {
    if (own_ > 0) each_.give_back(key_, own_);
  }

  // Makes it that many bytes, never fewer than before. False: there are not as many left, and
  // refusal() says of what.
  [[nodiscard]] bool hold(std::size_t bytes) {
    const std::size_t own = bytes > kSmall ? bytes - kSmall : 0;
    if (own > own_) {
      if (!each_.take(key_, own - own_)) {
        refusal_ = "Too much of this sender is being received at once.";
        return false;
      }
      own_ = own;
    }
    return all_.hold(bytes);
  }
  [[nodiscard]] std::string_view refusal() const { return refusal_; }

 private:
  ByteShare all_;
  ByteBudgets& each_;
  std::string key_;
  std::size_t own_ = 0;
  std::string_view refusal_ = "Too much is being received at once.";
};

}  // namespace sallyport
