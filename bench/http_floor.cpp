#include "http_floor.h"

#include <utility>

namespace sallyport {
namespace {

// What has come to a thread of the server with the requests that it handles now.
thread_local std::vector<Responder> in_hand;

}  // namespace

DurableConstant::DurableConstant(const std::filesystem::path& file, std::size_t record,
                                 std::string body)
    : record_(record), body_(std::move(body)), log_(file), writer_([this] { write(); }) {}

DurableConstant::~DurableConstant() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  wake_.notify_one();
  writer_.join();
}

void DurableConstant::answer(Responder responder) {
  in_hand.push_back(std::move(responder));
  if (in_hand.size() > 1) return;
  after_these_requests([this] {
    std::vector<Responder> all = std::exchange(in_hand, {});
    std::unique_lock lock(mutex_);
    for (Responder& each : all)
      arrived_.push_back(std::move(each));
    const bool wakes = std::exchange(sleeps_, false);
    lock.unlock();
    if (wakes) wake_.notify_one();
  });
}

// One thread for all connections: the second records of those that are under way go with the first
// ones of those that came meanwhile. Two that write at the same time, and one that waits for more
// to come before it writes, were both measured to be slower.
void DurableConstant::write() {
  std::vector<Responder> begun;
  std::unique_lock lock(mutex_);
  while (true) {
    if (begun.empty() && arrived_.empty()) {
      if (ends_) return;
      sleeps_ = true;
      wake_.wait(lock, [this] { return ends_ || !arrived_.empty(); });
      sleeps_ = false;
    }
    std::vector<Responder> next = std::exchange(arrived_, {});
    lock.unlock();
    log_.force((begun.size() + next.size()) * record_);
    {
      const AnswersTogether at_once;
      for (Responder& each : begun)
        each.send({.body = body_});
    }
    begun = std::move(next);
    lock.lock();
  }
}

}  // namespace sallyport
