// Sends checkpoints of the log to where nobody on this machine can change them.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

#include "base/error.h"

namespace sallyport {

class CheckpointSender {
 public:
  // An error: the URL cannot be dialled.
  [[nodiscard]] static Result<std::unique_ptr<CheckpointSender>> open(std::string url);
  CheckpointSender(const CheckpointSender&) = delete;
  CheckpointSender& operator=(const CheckpointSender&) = delete;
  // Tries once more to send what waits.
  ~CheckpointSender();

  // Never waits. Of too many that wait, the oldest are dropped: a newer one covers what they did.
  void send(const std::string& stream, const std::string& note);

 private:
  explicit CheckpointSender(std::string url);
  void work();
  [[nodiscard]] bool deliver(const std::string& note) const;

  std::string url_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::string> waiting_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace sallyport
