// From a policy to the classic BPF program that the kernel runs on every system call of a cell.
//
// The program checks the architecture, then finds the call by binary search over ranges of adjacent
// numbers with one outcome, then runs the range's comparisons of arguments, if it has any. A call
// that is allowed whatever its arguments never gets that far: since Linux 5.11 the kernel works
// those out once, when the filter is installed, and answers them from a bitmap.
#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <vector>

#include "base/error.h"
#include "kernel/seccomp_policy.h"

namespace sallyport {

// The value that the program returns to the kernel for a verdict. A refusal is a notification,
// whose errno the supervisor looks up again (refusal_errno): the kernel hands on no data with it.
// An observed call is a notification too.
[[nodiscard]] std::uint32_t action_of(seccomp::Verdict verdict);

// An error means that the policy does not fit into the 4096 instructions that the kernel takes.
[[nodiscard]] Result<std::vector<sock_filter>> compile(const SeccompPolicy& policy);

// The same for a process of our own, which has no supervisor: a refused call ends it.
[[nodiscard]] Result<std::vector<sock_filter>> compile_to_kill(const SeccompPolicy& policy);

}  // namespace sallyport
