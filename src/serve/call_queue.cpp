#include "serve/call_queue.h"

#include <utility>

namespace sallyport {

CallQueue::~CallQueue() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  for (std::thread& worker : workers_)
    worker.join();
}

bool CallQueue::push(const std::string& name, std::size_t bytes, Work work) {
  std::unique_lock lock(mutex_);
  Tenant& tenant = tenants_[name];
  if (tenant.waiting.size() >= limits_.calls || tenant.bytes + bytes > limits_.bytes) return false;
  tenant.waiting.push_back({bytes, std::move(work)});
  tenant.bytes += bytes;
  ++count_;
  const bool wake = give_turn(name, tenant);
  lock.unlock();  // whoever is woken needs it at once
  if (wake) wake_.notify_one();
  return true;
}

bool CallQueue::give_turn(const std::string& name, Tenant& tenant) {
  if (tenant.has_turn || tenant.waiting.empty() || tenant.running >= limits_.workers_of_one)
    return false;
  tenant.has_turn = true;
  turns_.push_back(name);
  // At the end, the workers that there are do the rest: the others are being joined.
  if (ending_ || idle_ >= turns_.size() || workers_.size() >= limits_.workers) return true;
  workers_.emplace_back([this] { serve(); });
  return false;
}

void CallQueue::end_one(const std::string& name) {
  const auto tenant = tenants_.find(name);
  --tenant->second.running;
  --running_;
  if (give_turn(name, tenant->second)) wake_.notify_one();
  if (tenant->second.running == 0 && tenant->second.waiting.empty()) tenants_.erase(tenant);
  if (ending_) wake_.notify_all();
}

void CallQueue::serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    wake_.wait(lock, [&] { return !turns_.empty() || (ending_ && count_ == 0); });
    --idle_;
    if (turns_.empty()) return;
    const std::string name = std::move(turns_.front());
    turns_.pop_front();
    Tenant& tenant = tenants_[name];
    tenant.has_turn = false;
    Entry entry = std::move(tenant.waiting.front());
    tenant.waiting.pop_front();
    tenant.bytes -= entry.bytes;
    --count_;
    ++tenant.running;
    ++running_;
    if (give_turn(name, tenant)) wake_.notify_one();
    lock.unlock();
    entry.work();
    entry.work = nullptr;  // what it holds is let go before the next one is taken
    lock.lock();
    end_one(name);
  }
}

std::size_t CallQueue::waiting() const {
  const std::lock_guard lock(mutex_);
  return count_;
}

std::size_t CallQueue::running() const {
  const std::lock_guard lock(mutex_);
  return running_;
}

}  // namespace sallyport
