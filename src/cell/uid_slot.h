// A host uid (and gid of the same number) that no other live cell has.
#pragma once

#include <sys/types.h>

#include "base/error.h"
#include "base/fd.h"

namespace sallyport {

// Where slots come from. The default avoids login users, subuid ranges (from 100000 on), systemd's
// dynamic users and container ranges (up to 0x6fffffff), and the kernel's signed limit.
struct UidRange {
  uid_t first = 0x70000000;
  unsigned count = 65536;

  // The default, or the range in SALLYPORT_UID_RANGE=FIRST:COUNT.
  static Result<UidRange> configured();
};

// Held by a lock on one byte of a file. The kernel lets go of it when the last process that holds
// the descriptor is gone, so a killed launcher leaves nothing to clean up.
class UidSlot {
 public:
  static Result<UidSlot> take(const UidRange& range);
  [[nodiscard]] uid_t uid() const { return uid_; }
  [[nodiscard]] int lock() const { return lock_.get(); }

 private:
  UidSlot(Fd lock, uid_t uid) : lock_(std::move(lock)), uid_(uid) {}
  Fd lock_;
  uid_t uid_;
};

}  // namespace sallyport
