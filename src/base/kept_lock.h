// The lock of lock_private_file() for those who take it all the time: the file stays open.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/fd.h"

namespace sallyport {

class KeptLock {
 public:
  explicit KeptLock(std::string name) : name_(std::move(name)) {}

  // The lock, as long as this lives; the KeptLock outlives it.
  class Held {
   public:
    explicit Held(int file) : file_(file) {}
    Held(Held&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
    Held& operator=(Held&&) = delete;
    ~Held();

   private:
    int file_;
  };

  // As lock_private_file() with O_RDWR | O_CREAT: whatever became of the file meanwhile, what is
  // locked is the private one that has the name now. One thread at a time.
  [[nodiscard]] Result<Held> take(int directory, std::chrono::milliseconds patience);

 private:
  [[nodiscard]] Result<void> open(int directory);
  [[nodiscard]] bool is_current(int directory) const;

  std::string name_;
  Fd file_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  // That opened it: to a child it would be locked whenever its parent has it locked.
  std::uint64_t process_ = 0;
};

}  // namespace sallyport
