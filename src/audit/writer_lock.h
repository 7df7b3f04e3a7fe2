// Which writers are alive. A writer has a random number, which its intents carry, and holds the
// byte of that number in `audit/writers` locked; when its process dies, however it dies, the kernel
// lets go of it.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/fd.h"

namespace sallyport {

class WriterLock {
 public:
  // `audit` must outlive this.
  explicit WriterLock(int audit) : audit_(audit) {}

  // Our number, 12 hexadecimal digits. It is taken, and the lock with it, at the first call and
  // again in a child process: the parent's lock is not the child's life.
  [[nodiscard]] Result<std::string> own();

  // Whether any process holds that number; an error counts as yes, a text that is no number as no.
  [[nodiscard]] bool is_alive(std::string_view number);

 private:
  [[nodiscard]] Result<void> open();

  int audit_;
  std::mutex mutex_;
  std::optional<std::uint64_t> owner_;  // the process that opened them
  std::string number_;
  Fd holder_;
  Fd looker_;  // an open file does not see the locks that are its own
};

}  // namespace sallyport
