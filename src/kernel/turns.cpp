#include "kernel/turns.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace sallyport {
namespace {

// The kernel's sched_attr in its first version. Its own header cannot be included beside libc's.
struct Attributes {
  std::uint32_t size = sizeof(Attributes);
  std::uint32_t policy = SCHED_OTHER;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime = 0, deadline = 0, period = 0;
};

bool read(pid_t process, Attributes& attributes) noexcept {
  return ::syscall(SYS_sched_getattr, process, &attributes, sizeof(attributes), 0) == 0 &&
         attributes.policy == SCHED_OTHER;
}

}  // namespace

std::chrono::nanoseconds turns_of(pid_t process) noexcept {
  Attributes now;
  if (!read(process, now)) return {};
  return std::chrono::nanoseconds(now.runtime);
}

bool set_turns(pid_t process, std::chrono::nanoseconds turns) noexcept {
  Attributes wanted;
  // Its nice value stays. Another policy, a real-time one say, is somebody's decision.
  if (!read(process, wanted)) return false;
  wanted.flags = 0;
  wanted.runtime = static_cast<std::uint64_t>(turns.count());
  return ::syscall(SYS_sched_setattr, process, &wanted, 0) == 0;
}

bool take_short_turns() noexcept {
  return set_turns(0, kShortTurns);
}

void take_usual_turns(pid_t process) noexcept {
  if (turns_of(process) == kShortTurns) set_turns(process, {});
}

}  // namespace sallyport
