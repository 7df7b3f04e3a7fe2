// Putting a compiled policy into force, and answering for it.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>

#include <cstddef>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "kernel/seccomp_policy.h"

namespace sallyport {

// Puts the calling thread, and all that it starts, under the program for good; returns the
// listener, a close-on-exec descriptor that the caller owns. Needs no_new_privs or CAP_SYS_ADMIN.
// Allocates nothing. From here on a refused call of this thread sleeps until somebody answers the
// listener.
Sys<int> install_filter(const sock_fprog& program);

// The supervisor's end of a filter. Every refused call is answered with its errno and never let
// through: what a call's pointers pointed at may have changed since anybody looked.
class RefusalListener {
 public:
  // An error means that the kernel has no user notification.
  static Sys<RefusalListener> make(Fd listener);

  // To poll: POLLIN when a call waits, POLLHUP when the last process under the filter is gone.
  [[nodiscard]] int fd() const { return listener_.get(); }

  // Refuses one waiting call with the errno that the policy has for it, and returns the call. Only
  // after POLLIN: the kernel has no receive that does not wait. nullopt when the caller died, or
  // was interrupted and will ask again, before it had its answer.
  Sys<std::optional<seccomp_data>> receive_and_refuse(const SeccompPolicy& policy);

 private:
  RefusalListener(Fd listener, const seccomp_notif_sizes& sizes);

  Fd listener_;
  // The kernel's structures may be larger than the ones of our headers.
  std::vector<std::byte> request_;
  std::vector<std::byte> response_;
};

}  // namespace sallyport
