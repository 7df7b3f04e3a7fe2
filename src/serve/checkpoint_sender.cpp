#include "serve/checkpoint_sender.h"

#include <utility>

#include "base/log.h"
#include "http/client.h"

namespace sallyport {
namespace {

constexpr std::size_t kMostWaiting = 1000;
constexpr std::chrono::seconds kPause{5};  // before the next attempt

}  // namespace

Result<std::unique_ptr<CheckpointSender>> CheckpointSender::open(std::string url) {
  if (auto good = check_fetch_url(url); !good) return std::unexpected(good.error());
  return std::unique_ptr<CheckpointSender>(new CheckpointSender(std::move(url)));
}

CheckpointSender::CheckpointSender(std::string url)
    : url_(std::move(url)), thread_([this] { work(); }) {}

CheckpointSender::~CheckpointSender() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void CheckpointSender::send(const std::string& stream, const std::string& note) {
  const json::object body{{"stream", stream}, {"checkpoint", note}};
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(json::serialize(body) + "\n");
    if (waiting_.size() > kMostWaiting) waiting_.pop_front();
  }
  wake_.notify_all();
}

bool CheckpointSender::deliver(const std::string& note) const {
  const auto reply =
      fetch({.url = url_, .socket = {}, .method = "POST", .headers = {}, .body = note});
  return reply && reply->status / 100 == 2;
}

void CheckpointSender::work() {
  std::unique_lock lock(mutex_);
  bool failing = false;
  while (true) {
    wake_.wait(lock, [&] { return ending_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const std::string note = waiting_.front();
    lock.unlock();
    const bool sent = deliver(note);
    lock.lock();
    if (sent != !failing)
      log_line("checkpoints", {{"state", sent ? "sent again" : "cannot be sent"}});
    failing = !sent;
    if (sent) {
      if (!waiting_.empty() && waiting_.front() == note) waiting_.pop_front();
    } else if (ending_) {
      return;
    } else {
      wake_.wait_for(lock, kPause, [&] { return ending_; });
    }
  }
}

}  // namespace sallyport
