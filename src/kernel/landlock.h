// Landlock: the second layer under the mounts. Floor ABI 2 (Debian 12's kernel); every newer right
// is used when there.
#pragma once

#include <cstdint>

#include "base/error.h"
#include "base/fd.h"

namespace sallyport {

inline constexpr int kLandlockFloor = 2;

// The kernel's Landlock ABI; 0 where there is none.
int landlock_abi();

// True when the kernel can refuse connections to path-named unix sockets by itself.
bool landlock_covers_unix_sockets(int abi);

enum class LandlockAccess : std::uint8_t {
  read,        // read and execute
  read_write,  // everything ordinary files need, devices and their ioctls not
  device,      // read, write, ioctl on one device file
};

// A ruleset under construction. Everything that is not allowed by a rule is denied.
class LandlockRuleset {
 public:
  // Handles all rights that `abi` knows, and keeps signals and abstract unix sockets inside the
  // cell (ABI 6).
  static Sys<LandlockRuleset> create(int abi);

  // Allows `access` on `path` and, for a directory, on everything below it.
  Sys<void> allow(const char* path, LandlockAccess access);

  // Puts the calling thread, and all it will start, under the ruleset. Needs no_new_privs.
  Sys<void> restrict_self();

 private:
  LandlockRuleset(Fd fd, int abi) : fd_(std::move(fd)), abi_(abi) {}
  Fd fd_;
  int abi_;
};

}  // namespace sallyport
