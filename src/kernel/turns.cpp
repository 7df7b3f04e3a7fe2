#include "kernel/turns.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "base/fd.h"

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

bool take_short_turns() noexcept {
  Attributes wanted;
  // Its nice value stays. Another policy, a real-time one say, is somebody's decision.
  if (!read(0, wanted)) return false;
  wanted.flags = 0;
  wanted.runtime = static_cast<std::uint64_t>(kShortTurns.count());
  return ::syscall(SYS_sched_setattr, 0, &wanted, 0) == 0;
}

bool take_precedence() noexcept {
  ::setsid();
  if (::getpriority(PRIO_PROCESS, 0) != 0 || ::setpriority(PRIO_PROCESS, 0, kPrecedence) != 0)
    return false;
  const Fd session(::open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC));
  constexpr char kText[] = {'-', '0' - kPrecedence};
  // Without such a file, there is no such sharing.
  return !session || ::write(session.get(), kText, sizeof(kText)) == sizeof(kText);
}

bool give_up_precedence() noexcept {
  errno = 0;  // -1 is a nice value, too
  const int now = ::getpriority(PRIO_PROCESS, 0);
  if (errno != 0) return false;
  return now != kPrecedence || ::setpriority(PRIO_PROCESS, 0, 0) == 0;
}

}  // namespace sallyport
