// A mutex for what takes less than a microsecond. Who finds it held tries for a moment before it
// sleeps: to sleep and be woken takes longer than what is waited for.
#pragma once

#include <pthread.h>

namespace sallyport {

class ShortMutex {
 public:
  ShortMutex() = default;
  ShortMutex(const ShortMutex&) = delete;
  ShortMutex& operator=(const ShortMutex&) = delete;
  ~ShortMutex() { ::pthread_mutex_destroy(&mutex_); }

  void lock() { ::pthread_mutex_lock(&mutex_); }
  bool try_lock() { return ::pthread_mutex_trylock(&mutex_) == 0; }
  void unlock() { ::pthread_mutex_unlock(&mutex_); }

 private:
  pthread_mutex_t mutex_ = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
};

}  // namespace sallyport
