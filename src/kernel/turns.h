// How soon a process has its turn on a busy machine. One that wakes waits while another is within
// its slice, unless its own are shorter. A call wakes one process after the other, each for a
// moment, so the service asks for short slices: it is asked sooner and interrupted sooner, and its
// share of the processors stays what it was. No right is needed for that, so tools have them too:
// to be given longer ones is a change for which a process loses its turn. Kernels before 6.12 take
// no notice.
#pragma once

#include <sys/types.h>

#include <chrono>

namespace sallyport {

inline constexpr std::chrono::nanoseconds kShortTurns{100'000};  // the shortest that there is

// How long the slices of a process are (0: of this one). None: it is not scheduled like that, or
// the kernel does not say.
[[nodiscard]] std::chrono::nanoseconds turns_of(pid_t process) noexcept;
// This process, and all that it starts from now on. False: the kernel does not let it.
bool take_short_turns() noexcept;

// Three times the weight of a tool, for a process of the service that has the right to take it:
// tools that keep all processors busy do not keep the boundary from ending them. It begins a
// session, and that session has the weight, too, because some kernels share processors among
// sessions first. False: there is no such right, or somebody has chosen another weight.
inline constexpr int kPrecedence = -5;  // a nice value
bool take_precedence() noexcept;

// For a cell that has it from the service.
bool give_up_precedence() noexcept;

}  // namespace sallyport
