// Putting a compiled policy into force, and answering for it.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>

#include <cstddef>
#include <functional>
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

// The same for a program that notifies nobody (compile_to_kill).
Sys<void> install_killing_filter(const sock_fprog& program);

// A call that waits for its answer.
struct WaitingCall {
  std::uint64_t id = 0;
  pid_t thread = -1;  // as the supervisor numbers it
  seccomp_data call{};
};

struct AnsweredCall {
  seccomp_data call{};
  bool refused = true;
};

// The supervisor's end of a filter. Every refused call is answered with its errno and never let
// through: what a call's pointers pointed at may have changed since anybody looked. A call that the
// policy only observes is looked at and carried out; the look decides nothing, so a tool that
// changes its memory meanwhile deceives the notes and gains no call that it would not have had.
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

  // The same, but shows a call that the policy observes to `look` and then has the kernel carry it
  // out. The registers decide which of the two it is: they are the kernel's copy.
  Sys<std::optional<AnsweredCall>> receive_and_answer(
      const SeccompPolicy& policy, const std::function<void(const WaitingCall&)>& look);

  // Whether the call still waits. Only then was whatever was read about its thread the thread's:
  // numbers of dead ones are given out again.
  [[nodiscard]] bool still_waits(std::uint64_t id) const;

 private:
  // nullopt: there is none any more.
  Sys<std::optional<WaitingCall>> receive();
  // False: the caller died, or was interrupted.
  Sys<bool> answer(const seccomp_notif_resp& response);

  RefusalListener(Fd listener, const seccomp_notif_sizes& sizes);

  Fd listener_;
  // The kernel's structures may be larger than the ones of our headers.
  std::vector<std::byte> request_;
  std::vector<std::byte> response_;
};

}  // namespace sallyport
