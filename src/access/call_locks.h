// Calls in flight that the kernel knows of. A call holds a lock on one byte of a file, at the
// number of its ticket; when its process dies, however it dies, the kernel lets go of it.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "base/error.h"
#include "base/fd.h"

namespace sallyport {

class CallLocks {
 public:
  // `directory` must outlive this.
  explicit CallLocks(int directory) : directory_(directory) {}

  // Makes sure that the file is open, and that it is not one which a parent process shares: such a
  // lock would outlive us.
  [[nodiscard]] Result<void> open();

  // The file must be open for these.
  [[nodiscard]] Result<void> hold(std::uint64_t ticket);
  void let_go(std::uint64_t ticket);
  // Whether any process, this one or another, holds the ticket; an error counts as yes.
  [[nodiscard]] bool is_held(std::uint64_t ticket) const;

 private:
  int directory_;
  pid_t owner_ = -1;
  Fd holder_;
  Fd looker_;  // an open file does not see the locks that are its own
};

}  // namespace sallyport
