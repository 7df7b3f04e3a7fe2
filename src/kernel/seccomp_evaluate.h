// Classic BPF in user space: what a seccomp program does with a call, without a kernel.
//
// It takes the part of the language in which the kernel can tell an unconditionally allowed call
// from its number alone (loads, AND, jumps and returns of constants): a program that uses more is
// refused here, because it would lose the kernel's bitmap for such calls.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>

#include <cstdint>
#include <span>

#include "base/error.h"

namespace sallyport {

// An error names the first instruction that the kernel, or the restriction above, would not take:
// an unknown opcode, a load outside of seccomp_data, a jump out of the program, no return at the
// end.
[[nodiscard]] Result<void> check_program(std::span<const sock_filter> program);

// What the program returns for a call. An error is check_program's: no part of a malformed program
// runs.
[[nodiscard]] Result<std::uint32_t> evaluate(std::span<const sock_filter> program,
                                             const seccomp_data& call);

}  // namespace sallyport
