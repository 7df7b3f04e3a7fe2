// The floor of a service that keeps records: the same answer for everybody, after two records were
// forced to the disk one after the other, and nothing else. Nothing is read, decided, hashed or
// kept. What waits goes to the disk together, whatever connection it came from.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "http/server.h"
#include "quick_log.h"

namespace sallyport {

class DurableConstant {
 public:
  // `record`: what each of the two records takes. The file lies on the disk that is measured.
  DurableConstant(const std::filesystem::path& file, std::size_t record, std::string body);
  ~DurableConstant();
  DurableConstant(const DurableConstant&) = delete;
  DurableConstant& operator=(const DurableConstant&) = delete;

  // From a handler of the server.
  void answer(Responder responder);

 private:
  void write();

  std::size_t record_;
  std::string body_;
  QuickLog log_;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Responder> arrived_;
  bool sleeps_ = false, ends_ = false;
  std::thread writer_;
};

}  // namespace sallyport
