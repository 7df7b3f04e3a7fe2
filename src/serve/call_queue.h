// Calls that wait for a worker. Tenants take turns, and no tenant has all workers: however many
// calls one of them has, another's single call is next but one.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace sallyport {

struct QueueLimits {
  unsigned workers = 64;
  unsigned workers_of_one = 48;               // that work for one tenant at the same time
  std::size_t calls = 1000;                   // of one tenant that wait
  std::size_t bytes = std::size_t{64} << 20;  // that the waiting calls of one tenant hold
};

class CallQueue {
 public:
  using Work = std::function<void()>;

  explicit CallQueue(QueueLimits limits) : limits_(limits) {}
  CallQueue(const CallQueue&) = delete;
  CallQueue& operator=(const CallQueue&) = delete;
  // Runs what is waiting, and then ends.
  ~CallQueue();

  // `bytes` is what the work holds while it waits. False: too much of this tenant is waiting.
  [[nodiscard]] bool push(const std::string& tenant, std::size_t bytes, Work work);
  [[nodiscard]] std::size_t waiting() const;
  [[nodiscard]] std::size_t running() const;

 private:
  struct Entry {
    std::size_t bytes;
    Work work;
  };
  struct Tenant {
    std::deque<Entry> waiting;
    std::size_t bytes = 0;
    unsigned running = 0;
    bool has_turn = false;  // stands in turns_
  };
  void serve();
  // All of these with the lock held. give_turn: whether a worker has to be woken.
  [[nodiscard]] bool give_turn(const std::string& name, Tenant& tenant);
  void end_one(const std::string& name);

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::map<std::string, Tenant> tenants_;  // with something that waits or runs
  std::deque<std::string> turns_;          // that may begin something, each once
  QueueLimits limits_;
  std::size_t count_ = 0, running_ = 0, idle_ = 0;
  bool ending_ = false;
  std::vector<std::thread> workers_;  // started as they are needed
};

}  // namespace sallyport
