// How soon a process has its turn on a busy machine. One that wakes waits while another is within
// its slice, unless its own are shorter. A call wakes one process after the other, each for a
// moment, so the service asks for short slices: it is asked sooner and interrupted sooner, and its
// share of the processors stays what it was. No right is needed for that. Kernels before 6.12 take
// no notice.
#pragma once

#include <sys/types.h>

#include <chrono>

namespace sallyport {

inline constexpr std::chrono::nanoseconds kShortTurns{100'000};  // the shortest that there is

// How long the slices of a process are (0: of this one). None: it is not scheduled like that, or
// the kernel does not say.
[[nodiscard]] std::chrono::nanoseconds turns_of(pid_t process) noexcept;
// None: as long as those of everybody.
bool set_turns(pid_t process, std::chrono::nanoseconds turns) noexcept;

// This process, and all that it starts from now on. False: the kernel does not let it.
bool take_short_turns() noexcept;

// Back to what everybody has, for a tool (0: this process) that has short ones from the service.
// System calls alone: for the child of a vfork, too. A tool may choose its own slices, so nothing
// is lost where this fails.
void take_usual_turns(pid_t process) noexcept;

}  // namespace sallyport
