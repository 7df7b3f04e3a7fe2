#include "base/process_number.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>

namespace sallyport {
namespace {

std::atomic<std::uint64_t> forks = 0;  // between the first process and this one

}  // namespace

std::uint64_t process_number() {
  static const bool counted = ::pthread_atfork(nullptr, nullptr, [] { ++forks; }) == 0;
  return counted ? forks.load(std::memory_order_relaxed) : static_cast<std::uint64_t>(::getpid());
}

}  // namespace sallyport
